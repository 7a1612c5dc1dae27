package main

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/sharding"
)

//go:embed page.html
var page []byte

// Web serves the rooms on one node.
type Web struct {
	data  *ddata.Replicator
	rooms *sharding.Region[Say]
}

// Handler serves:
//
//	GET  /                      the page
//	GET  /rooms/{room}          a stream of server-sent events: the last messages, after each new one
//	POST /rooms/{room}?user=alice&text=hello
func (w Web) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(out http.ResponseWriter, _ *http.Request) { _, _ = out.Write(page) })
	mux.HandleFunc("GET /rooms/{room}", w.stream)
	mux.HandleFunc("POST /rooms/{room}", w.say)
	return mux
}

func (w Web) say(out http.ResponseWriter, r *http.Request) {
	say := Say{User: r.FormValue("user"), Text: r.FormValue("text")}
	number, err := sharding.Ask(r.Context(), w.rooms.Ref(r.PathValue("room")), say)
	switch {
	case errors.Is(err, ErrEmpty):
		http.Error(out, ErrEmpty.Error(), http.StatusBadRequest)
	case err != nil:
		http.Error(out, err.Error(), http.StatusServiceUnavailable)
	default:
		fmt.Fprintln(out, number)
	}
}

func (w Web) stream(out http.ResponseWriter, r *http.Request) {
	out.Header().Set("Content-Type", "text/event-stream")
	events := http.NewResponseController(out)
	if err := events.Flush(); err != nil {
		return
	}
	for change, err := range ddata.Watch(r.Context(), w.data, linesOf(r.PathValue("room"))) {
		if err != nil {
			return // the browser connects again
		}
		lines, _ := change.Value.Get()
		all, err := json.Marshal(lines)
		if err != nil {
			return
		}
		if _, err := fmt.Fprintf(out, "data: %s\n\n", all); err != nil || events.Flush() != nil {
			return
		}
	}
}

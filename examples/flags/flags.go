package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strconv"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata"
)

// flags is the key of all flags. Of two nodes that set one flag at one time, the later counts.
var flags = ddata.NewKey[crdt.LWWMap[string, bool]]("flags")

//go:embed page.html
var page []byte

// Service is the flags on one node.
type Service struct{ data *ddata.Replicator }

// Handler serves the page, the stream of flags, and changes of one flag:
//
//	GET /               a page that shows the flags, and changes with them
//	GET /flags          a stream of server-sent events: all flags, after each change
//	PUT /flags/dark?on=true
func (s Service) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(page) })
	mux.HandleFunc("GET /flags", s.stream)
	mux.HandleFunc("PUT /flags/{name}", s.set)
	return mux
}

// set changes a flag on a majority of the nodes. So it is there when one of them dies.
func (s Service) set(w http.ResponseWriter, r *http.Request) {
	on, err := strconv.ParseBool(r.FormValue("on"))
	if err != nil {
		http.Error(w, "on must be true or false", http.StatusBadRequest)
		return
	}
	err = ddata.Update(r.Context(), s.data, flags, ddata.WriteMajority, func(m *crdt.LWWMapTx[string, bool]) error {
		return m.Put(r.PathValue("name"), on)
	})
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
	}
}

// stream pushes the flags to a browser. One that is slower than the changes gets the latest.
func (s Service) stream(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	events := http.NewResponseController(w)
	if err := events.Flush(); err != nil {
		return
	}
	for change, err := range ddata.Watch(r.Context(), s.data, flags) {
		if err != nil {
			return // the browser connects again
		}
		all, err := json.Marshal(maps.Collect(change.Value.All()))
		if err != nil {
			return
		}
		if _, err := fmt.Fprintf(w, "data: %s\n\n", all); err != nil || events.Flush() != nil {
			return
		}
	}
}

package main

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"

	"github.com/coterie-go/coterie/sharding"
)

// Shop serves carts over HTTP. Any node answers for every cart.
type Shop struct{ carts *sharding.Region[Command] }

// Handler serves:
//
//	GET  /carts/{id}                         the cart
//	POST /carts/{id}/items?item=pen&count=2  puts items into it
//	POST /carts/{id}/checkout                closes it
func (s Shop) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /carts/{id}", func(w http.ResponseWriter, r *http.Request) { s.answer(w, r, Show{}) })
	mux.HandleFunc("POST /carts/{id}/checkout", func(w http.ResponseWriter, r *http.Request) {
		s.answer(w, r, CheckOut{})
	})
	mux.HandleFunc("POST /carts/{id}/items", func(w http.ResponseWriter, r *http.Request) {
		count, err := strconv.Atoi(r.FormValue("count"))
		if err != nil || r.FormValue("item") == "" {
			http.Error(w, "an item and a count are needed", http.StatusBadRequest)
			return
		}
		s.answer(w, r, Add{Item: r.FormValue("item"), Count: count})
	})
	return mux
}

// answer asks the cart and tells what it has answered.
func (s Shop) answer(w http.ResponseWriter, r *http.Request, cmd sharding.Request[Command, Cart]) {
	cart, err := sharding.Ask(r.Context(), s.carts.Ref(r.PathValue("id")), cmd)
	switch {
	case errors.Is(err, ErrCheckedOut):
		http.Error(w, ErrCheckedOut.Error(), http.StatusConflict)
	case errors.Is(err, ErrCount):
		http.Error(w, ErrCount.Error(), http.StatusBadRequest)
	case errors.Is(err, sharding.ErrInvalidID):
		http.Error(w, err.Error(), http.StatusBadRequest)
	case err != nil: // a node has died, or the cluster has no majority: the caller may try again
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
	default:
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(cart)
	}
}

package main

import (
	"net/http"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/console"
	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/events/prom"
	"github.com/coterie-go/coterie/ddata/events/recent"
)

// admin is what operators and Prometheus see of a pod, on a port of its own. Both show a token.
type admin struct {
	tokens  console.Tokens
	meter   events.Meter // of the node
	metrics http.Handler
	console atomic.Pointer[http.Handler] // nil until the node is Up
}

// newAdmin makes what is there before the node.
func newAdmin(tokens console.Tokens) *admin {
	meter, registry := prom.New(prom.Config{}), prometheus.NewRegistry()
	registry.MustRegister(meter, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return &admin{
		tokens: tokens, meter: recent.New(meter), // the console shows the times of the last minute
		metrics: promhttp.HandlerFor(registry, promhttp.HandlerOpts{EnableOpenMetrics: true}),
	}
}

// show has the console show a node. Without a token for operators no pod does what the console of another one wants.
func (a *admin) show(node *ddata.Node) {
	cfg := console.Config{Authorize: a.tokens.Authorize, Others: console.Read}
	if a.tokens.Operate != "" {
		cfg.Others = console.Operate
	}
	h := console.Handler(node, cfg)
	a.console.Store(&h)
}

// handler serves the console and the metrics.
func (a *admin) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/coterie/", func(w http.ResponseWriter, r *http.Request) {
		if h := a.console.Load(); h != nil {
			(*h).ServeHTTP(w, r)
			return
		}
		http.Error(w, "the node waits for the cluster; see the log of the pod", http.StatusServiceUnavailable)
	})
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, r *http.Request) {
		if _, err := a.tokens.Authorize(r); err != nil {
			http.Error(w, "show the token for reading", http.StatusUnauthorized)
			return
		}
		a.metrics.ServeHTTP(w, r)
	})
	return mux
}

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/console"
	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/shutdown"
	"github.com/coterie-go/coterie/sharding"
)

// shards is how many shards the counters have, ten for each of ten pods.
const shards = 100

// service is what one pod runs.
type service struct {
	settings settings
	log      *slog.Logger
	web      *http.Server // of requests
	draining draining
	admin    *admin
	node     atomic.Pointer[ddata.Node] // nil until it is Up
	counters *sharding.Region[Command]
}

// serve runs until the node has ended: nil if it has left in order.
func serve(ctx context.Context, s settings, log *slog.Logger) error {
	x := &service{settings: s, log: log, admin: newAdmin(console.Tokens{Read: s.read, Operate: s.operate})}
	for _, p := range []struct {
		variable, addr string
		handler        http.Handler
	}{
		{"SHOP_PROBES", s.probes, x.probes()}, {"SHOP_HOOK", s.hook, x.hooks()},
		{"SHOP_CONSOLE", s.console, x.admin.handler()},
	} {
		if p.addr == "" {
			continue
		}
		l, err := net.Listen("tcp", p.addr)
		if err != nil {
			return fmt.Errorf("%s: %w", p.variable, err)
		}
		server := &http.Server{Handler: p.handler, ReadHeaderTimeout: requestLimit}
		go func() { _ = server.Serve(l) }() // it ends with the process
		defer server.Close()
	}
	cfg, end, wrong := s.config(ctx, log)
	defer end()
	if len(wrong) > 0 {
		return wrong
	}
	cfg.Meter = x.admin.meter
	node, err := ddata.Start(ctx, cfg) // as long as it takes: SIGTERM ends the process meanwhile
	if err != nil {
		return err
	}
	defer node.Close()
	if err := x.begin(node); err != nil {
		return err
	}
	<-node.Done()
	if err := node.Err(); !errors.Is(err, ddata.ErrLeft) {
		return err // Kubernetes starts the container again
	}
	return nil
}

// begin starts the counters, and takes requests.
func (x *service) begin(node *ddata.Node) error {
	data, err := node.Replicator(role)
	if err != nil {
		return err
	}
	x.counters, err = sharding.Start(node, sharding.EntityType[Command]{
		Identity: sharding.Identity{Name: "Counter", Role: role, Shards: shards},
		Messages: sharding.CBOR[Command](Increment{}, Total{}),
		New: func(c *sharding.Context[Command]) sharding.Entity[Command] {
			return &counter{data: data, key: counterKey(c.ID())}
		},
	})
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", x.settings.http)
	if err != nil {
		return fmt.Errorf("SHOP_HTTP: %w", err)
	}
	x.web = &http.Server{Handler: x.requests(), ReadHeaderTimeout: requestLimit}
	node.OnShutdown(shutdown.BeforeServiceUnbind, "draining", x.draining.end)
	node.OnShutdown(shutdown.ServiceUnbind, "requests", x.web.Shutdown)
	go func() { _ = x.web.Serve(l) }() // until the shutdown
	x.admin.show(node)
	x.node.Store(node)
	return nil
}

// health is what the probes ask for.
func (x *service) health() events.Health {
	node := x.node.Load()
	if node == nil {
		return events.Health{Live: true, Reasons: []string{"the node waits for the cluster; see its log"}}
	}
	h := node.Health()
	if x.draining.is() {
		h.Ready, h.Reasons = false, append(h.Reasons, "the pod is ending")
	}
	return h
}

// probes answers the kubelet.
func (x *service) probes() http.Handler { return events.HealthHandler(x.health) }

// requestLimit bounds a request.
const requestLimit = 10 * time.Second

// requests answers clients.
func (x *service) requests() http.Handler {
	mux := http.NewServeMux()
	ask := func(q sharding.Request[Command, uint64]) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if x.draining.is() {
				// The client connects anew, elsewhere. To close idle connections instead would meet requests that are
				// on their way.
				w.Header().Set("Connection", "close")
			}
			ctx, cancel := context.WithTimeout(r.Context(), requestLimit)
			defer cancel()
			n, err := sharding.Ask(ctx, x.counters.Ref(r.PathValue("name")), q)
			if err != nil {
				code := http.StatusServiceUnavailable
				if errors.Is(err, sharding.ErrInvalidID) {
					code = http.StatusBadRequest
				}
				http.Error(w, err.Error(), code)
				return
			}
			fmt.Fprintln(w, n)
		}
	}
	mux.HandleFunc("POST /counters/{name}", ask(Increment{}))
	mux.HandleFunc("GET /counters/{name}", ask(Total{}))
	return mux
}

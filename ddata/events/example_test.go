package events_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"time"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/events"
)

// run starts a node with some settings, and has it leave at the end.
func run(settings func(*ddata.Config), use func(context.Context, *ddata.Node)) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cfg := ddata.Config{
		Name: "shop", Bind: "127.0.0.1:0", BootstrapExpect: 1, Preset: ddata.Local,
		Logger: slog.New(slog.DiscardHandler),
	}
	settings(&cfg)
	node, err := ddata.Start(ctx, cfg)
	if err != nil {
		fmt.Println(err)
		return
	}
	use(ctx, node)
	if err := node.Leave(ctx); err != nil {
		fmt.Println(err)
	}
}

// A listener switches on the events that it wants. It is called on goroutines of the node, so it must be
// quick.
func ExampleListener() {
	up := make(chan string, 1)
	run(func(c *ddata.Config) {
		c.OnEvent = func(e events.Event) {
			switch e := e.(type) {
			case events.MemberUp:
				up <- fmt.Sprint("up with roles ", e.Member.Roles)
			case events.Loss:
				fmt.Println(e.Lost(), "messages were lost")
			}
		}
	}, func(context.Context, *ddata.Node) { fmt.Println(<-up) })
	// Output: up with roles [default]
}

// A loop that takes its time hears of events by a Feed.
func ExampleFeed() {
	feed := events.NewFeed(1000)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	seen := make(chan bool)
	go func() {
		for e, err := range feed.Watch(ctx) {
			if missed, is := err.(events.MissedError); is {
				fmt.Println("too slow for", missed.Events, "events")
			}
			if _, ended := e.(events.NodeEnded); ended {
				close(seen)
				return
			}
		}
	}()
	run(func(c *ddata.Config) { c.OnEvent = feed.Tell }, func(context.Context, *ddata.Node) {})
	<-seen
	fmt.Println("the node has ended")
	// Output: the node has ended
}

// Every event is a line of a log, with a constant message.
func ExampleEvent() {
	var e events.Event = events.SingletonFailed{Name: "reports", Role: "backend", Err: io.EOF, Again: time.Second}
	line := e.Line()
	fmt.Println(line.Level, line.Message)

	log := events.Log(slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		},
	})))
	log(e)
	// Output:
	// WARN singleton has ended by itself and is started again
	// level=WARN msg="singleton has ended by itself and is started again" name=reports role=backend err=EOF after=1s
}

// The probes of Kubernetes ask a node for its health.
func ExampleHealth() {
	run(func(*ddata.Config) {}, func(_ context.Context, node *ddata.Node) {
		answer := httptest.NewRecorder()
		handler := events.HealthHandler(node.Health)
		handler.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/readyz", nil))
		fmt.Print(answer.Code, " ", answer.Body)
	})
	health := events.Health{Live: true, Reasons: []string{"2 of 3 nodes are there"}}
	fmt.Println(health)
	// Output:
	// 200 live=true ready=true
	// live=true ready=false: 2 of 3 nodes are there
}

// gauges is a Meter that can be asked for the gauges of a node, and lets go of what is observed.
type gauges struct {
	read func(report func(*events.Metric, float64, ...string))
}

func (g *gauges) Read(read func(func(*events.Metric, float64, ...string))) (cancel func()) {
	g.read = read
	return func() {}
}

func (g *gauges) Histogram(*events.Metric, ...string) events.Observer { return ignored{} }

type ignored struct{}

func (ignored) Observe(context.Context, float64) {}

// A Meter hands the metrics of a node to a system of metrics. Packages prom and otel have one each.
func ExampleMeter() {
	meter := &gauges{}
	run(func(c *ddata.Config) { c.Meter = meter }, func(context.Context, *ddata.Node) {
		meter.read(func(m *events.Metric, value float64, labels ...string) {
			if m.Kind == events.Gauge && m.Name == "coterie_members" {
				fmt.Println(m.Name, labels, value)
			}
		})
	})
	// Output:
	// coterie_members [joining] 0
	// coterie_members [up] 1
	// coterie_members [leaving] 0
}

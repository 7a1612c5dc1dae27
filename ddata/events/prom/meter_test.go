package prom_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/events/prom"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// scrape returns the values by name and labels; of a histogram the number of observations.
func scrape(t *testing.T, reg *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetName()+"="+l.GetValue())
			}
			got[fmt.Sprint(f.GetName(), labels)] = m.GetCounter().GetValue() + m.GetGauge().GetValue() +
				float64(m.GetHistogram().GetSampleCount())
		}
	}
	return got
}

// What is scraped is what happened; a node that has ended is read no more; one after it may have
// the same meter.
func TestScrapeIsWhatHappened(t *testing.T) {
	reg := prometheus.NewRegistry()
	meter := prom.New(prom.Config{Labels: map[string]string{"at": "here"}})
	reg.MustRegister(meter)
	for range 2 {
		n, err := ddata.Start(t.Context(), ddata.Config{
			Name: "test", Bind: "127.0.0.1:0", BootstrapExpect: 1, Preset: ddata.Local,
			Logger: slog.New(slog.NewTextHandler(io.Discard, nil)), Meter: meter,
		})
		if err != nil {
			t.Fatal(err)
		}
		r, err := n.Replicator(ddata.DefaultRole)
		if err != nil {
			t.Fatal(err)
		}
		key := ddata.NewKey[crdt.GCounter]("hits")
		const updates = "coterie_request_duration_seconds[at=here data=user level=Majority op=update role=default]"
		before := scrape(t, reg)[updates]
		for range 7 {
			if err := ddata.Update(t.Context(), r, key, ddata.WriteMajority,
				func(c *crdt.GCounterTx) error { return c.Increment(1) }); err != nil {
				t.Fatal(err)
			}
		}
		if err := n.Host().Channels.Append(12345, 0, 0, 0, nil, nil); err == nil {
			t.Fatal("a stranger is sent to")
		}
		running := make(chan struct{})
		_, err = n.RunSingleton(ddata.SingletonConfig{Name: "clerk",
			Run: func(ctx context.Context, _ ddata.FencingToken) error {
				close(running)
				<-ctx.Done()
				return nil
			}})
		if err != nil {
			t.Fatal(err)
		}
		<-running
		got := scrape(t, reg)
		for name, want := range map[string]float64{
			"coterie_view_epoch[at=here]": float64(n.View().Epoch), "coterie_members[at=here status=up]": 1,
			"coterie_members[at=here status=joining]": 0,
			"coterie_lease_held[at=here]":             1, "coterie_oldest[at=here role=default]": 1,
			"coterie_live[at=here]": 1, "coterie_ready[at=here]": 1,
			"coterie_membership_views_installed_total[at=here]":                  1,
			"coterie_transport_dropped_total[at=here reason=no-peer]":            1,
			"coterie_singleton_running[at=here name=clerk role=default]":         1,
			"coterie_events_total[at=here event=ViewInstalled]":                  1,
			"coterie_events_total[at=here event=SingletonChanged]":               1,
			"coterie_events_total[at=here event=Forked]":                         0,
			"coterie_replicator_malformed_total[at=here data=user role=default]": 0,
			updates: before + 7,
		} {
			if value, ok := got[name]; !ok || value != want {
				t.Errorf("%s is %v (%t), want %v", name, value, ok, want)
			}
		}
		checkTable(t, got)
		if err := n.Close(); err != nil {
			t.Fatal(err)
		}
		if _, ok := scrape(t, reg)["coterie_view_epoch[at=here]"]; ok {
			t.Error("a node that has ended is read")
		}
	}
}

// What is observed under a trace is an exemplar, unless its ids are too long or no text.
func TestExemplars(t *testing.T) {
	type key struct{}
	meter := prom.New(prom.Config{Exemplar: func(ctx context.Context) (trace, span string) {
		trace, _ = ctx.Value(key{}).(string)
		return trace, "s"
	}})
	reg := prometheus.NewRegistry()
	reg.MustRegister(meter)
	o := meter.Histogram(&events.Metric{Name: "took", Kind: events.Histogram, Buckets: []float64{1, 2, 3, 4}})
	for value, trace := range map[float64]string{
		.5: "t1", 1.5: "", 2.5: strings.Repeat("x", 113), 3.5: "\xff", 4.5: strings.Repeat("x", 112),
	} {
		o.Observe(context.WithValue(t.Context(), key{}, trace), value)
	}
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[float64]int{}
	for _, b := range families[0].GetMetric()[0].GetHistogram().GetBucket() {
		if e := b.GetExemplar(); e != nil {
			got[e.GetValue()] = len(e.GetLabel())
		}
	}
	if !maps.Equal(got, map[float64]int{.5: 2, 4.5: 2}) {
		t.Errorf("exemplars %v", got)
	}
}

// checkTable compares the table of metrics of package events with what is scraped. A
// repair has not happened.
func checkTable(t *testing.T, got map[string]float64) {
	t.Helper()
	src, err := os.ReadFile("../design.md")
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	for _, m := range regexp.MustCompile(`(?m)^(coterie_\w+)`).FindAllSubmatch(src, -1) {
		listed = append(listed, string(m[1]))
	}
	names := map[string]bool{}
	for name := range got {
		name, _, _ = strings.Cut(name, "[")
		names[name] = true
		if !slices.Contains(listed, name) {
			t.Errorf("%s is not in the table", name)
		}
	}
	for _, name := range listed {
		if !names[name] {
			t.Errorf("%s is in the table only", name)
		}
	}
}

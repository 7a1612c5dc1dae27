package console

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/console/api"
)

// Actions are done where they belong. Another node does them only if it was told to.
func TestActions(t *testing.T) {
	nodes, hs, all := cluster(t, 2, 4, Config{NodeTimeout: patience})
	act := func(h http.Handler, status int, body string) string {
		t.Helper()
		if status != 200 {
			return ask[api.Error](t, h, status, "POST", "/api/v1/actions", body).Text
		}
		return ask[api.Result](t, h, status, "POST", "/api/v1/actions", body).Text
	}
	other := nodes[1].Addr()
	limit := fmt.Sprintf(`{"do":"limit","type":"Cart","limit":7,"node":%q}`, other)
	if text := act(hs[0], 403, limit); !strings.Contains(text, "Config.Others") {
		t.Errorf("%s", text)
	}
	if text := act(hs[1], 200, limit); text != "done on "+other {
		t.Errorf("%s", text)
	}
	Answer(nodes[1], Operate)
	if text := act(hs[0], 200, limit); text != "done on "+other {
		t.Errorf("%s", text)
	}
	for _, body := range []string{`{"do":"rebalance","type":"Cart"}`, `{"do":"passivate","type":"Cart","entity":"x"}`,
		`{"do":"stop-shards","type":"Cart","shards":[1,2]}`,
		fmt.Sprintf(`{"do":"move","type":"Cart","shards":[1],"node":"%v"}`, nodes[1].UID())} {
		if text := act(hs[0], 200, body); text != "done on "+nodes[0].Addr() {
			t.Errorf("%s: %s", body, text)
		}
	}
	if got := all[0].acted[3]; got.Node != uidText(nodes[1].UID()) {
		t.Errorf("the destination is %+v", got)
	}
	ev := ask[api.Events](t, hs[1], 200, "GET", "/api/v1/events?limit=100", "")
	if !slices.ContainsFunc(ev.Events, func(e api.Event) bool {
		return e.Kind == "Acted" && strings.Contains(e.Text, "do=limit") && e.Node == uidText(nodes[0].UID())
	}) {
		t.Errorf("what was done is no event: %+v", ev.Events)
	}
	act(hs[0], 200, `{"do":"prepare-shutdown"}`)
	if !nodes[1].View().Closing {
		t.Errorf("the other node does not know that the cluster closes: %v", nodes[1].View())
	}
	act(hs[0], 200, fmt.Sprintf(`{"do":"leave","node":%q}`, other))
	select {
	case <-nodes[1].Done():
	case <-time.After(patience):
		t.Fatal("it does not leave")
	}
}

// With Others: Read a console acts by itself where it can, and is refused what only another node can do.
func TestTrust(t *testing.T) {
	nodes, hs, _ := cluster(t, 2, 4, Config{NodeTimeout: patience})
	first := nodes[0].Addr()
	for _, c := range []struct {
		status int
		body   string
	}{
		{403, `{"do":"rebalance","type":"Cart"}`}, // the first has the coordinator
		{403, fmt.Sprintf(`{"do":"limit","type":"Cart","limit":7,"node":%q}`, first)},
		{403, fmt.Sprintf(`{"do":"drain","node":%q}`, first)},
		{403, fmt.Sprintf(`{"do":"leave","node":%q}`, first)},
		{200, fmt.Sprintf(`{"do":"move","type":"Cart","shards":[1],"node":%q}`, first)},
		{200, `{"do":"stop-shards","type":"Cart","shards":[0,1]}`},
		{200, `{"do":"passivate","type":"Cart","entity":"x"}`},
		{404, `{"do":"down","node":"gone:1"}`},
		{200, `{"do":"prepare-shutdown"}`},
	} {
		x := ask[struct{ Text string }](t, hs[1], c.status, "POST", "/api/v1/actions", c.body)
		if c.status == 403 && !strings.Contains(x.Text, "Config.Others") {
			t.Errorf("%s: %s", c.body, x.Text)
		}
	}
	select {
	case <-nodes[0].Done():
		t.Error("the first node has left")
	default:
	}
}

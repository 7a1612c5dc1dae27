package console

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/console/api"
	"github.com/coterie-go/coterie/ddata/console/peers"
	"github.com/coterie-go/coterie/ddata/console/section"
	"github.com/coterie-go/coterie/ddata/console/timeline"
	"github.com/coterie-go/coterie/ddata/host"
	"github.com/coterie-go/coterie/ddata/membership/view"
)

// channel is the name of the channel over which consoles ask other nodes.
const channel = "console"

// station is what a node has of the console: one, however many handlers are mounted. It answers for
// the node.
type station struct {
	node   *ddata.Node
	host   host.Host
	line   *peers.Line
	events *timeline.Timeline
	others atomic.Uint32 // Access of the consoles of other nodes

	refusals  refusals // of callers that may look
	strangers refusals
}

// Answer has a node answer the consoles of other nodes, and do what others allows them. It is for
// nodes that mount no Handler. Of several calls, and of Handler with its Config.Others, the last
// counts.
func Answer(node *ddata.Node, others Access) { stationOf(node, Config{Others: others}.WithDefaults()) }

func stationOf(node *ddata.Node, cfg Config) *station {
	h := node.Host()
	s := host.Attach(h, func() *station {
		s := &station{
			node: node, host: h, events: timeline.New(uidText(node.UID()), cfg.Events, h.Scheduler.Now),
			refusals: refusals{most: 10, every: time.Minute}, strangers: refusals{most: 1, every: time.Hour},
		}
		h.OnEvent(s.events.Tell)
		s.line = peers.New(h, channel, s.answer)
		return s
	})
	s.others.Store(uint32(cfg.Others))
	return s
}

// query is what one console asks of another node, in JSON: the schema of what it is answered is that
// of package api, which both have.
type query struct {
	Ask    string      `json:"ask"`
	Type   string      `json:"type,omitempty"`
	ID     string      `json:"id,omitempty"`
	From   int         `json:"from,omitempty"`
	Limit  int         `json:"limit,omitempty"`
	Action *api.Action `json:"action,omitempty"`
	By     string      `json:"by,omitempty"` // of an action: which caller wants it
}

// What can be asked.
const (
	askNode    = "node"
	askShards  = "shards"
	askEntity  = "entity"
	askFind    = "find"
	askEvents  = "events"
	askMetrics = "metrics"
	askAct     = "act"
)

// eventsBytes bounds the events of one answer, in JSON: the answer has room for a little more.
const eventsBytes = peers.BytesMax - 1<<10

// reply is the answer to a query: Error, or a value of package api.
type reply struct {
	Error *api.Error      `json:"error,omitempty"`
	Value json.RawMessage `json:"value,omitempty"`
}

// answer answers another node's console.
func (s *station) answer(ctx context.Context, from view.UID, question []byte) ([]byte, error) {
	var q query
	if err := json.Unmarshal(question, &q); err != nil {
		return nil, fmt.Errorf("not understood: %w", err)
	}
	x, err := s.tellOther(ctx, from, q)
	if err != nil {
		return json.Marshal(reply{Error: &api.Error{Code: codeOf(err), Text: err.Error()}})
	}
	value, err := json.Marshal(x)
	if err != nil {
		return nil, err
	}
	return json.Marshal(reply{Value: value})
}

// tellOther answers as far as others may ask.
func (s *station) tellOther(ctx context.Context, from view.UID, q query) (any, error) {
	if q.Ask == askAct {
		if Access(s.others.Load()) < Operate {
			return nil, fmt.Errorf("%w: %s lets the consoles of other nodes look only: set Config.Others to Operate "+
				"there, or ask its own console", errRefused, s.node.Addr())
		}
		q.By = fmt.Sprintf("%s, by the console of %v", q.By, from)
	}
	return s.tell(ctx, q)
}

// tell answers for this node.
func (s *station) tell(ctx context.Context, q query) (any, error) {
	switch q.Ask {
	case askNode:
		return s.self(ctx), nil
	case askEvents:
		return s.events.Latest(min(q.Limit, api.EventsMax), eventsBytes), nil
	case askMetrics:
		return s.metrics(), nil
	case askAct:
		if q.Action == nil {
			return nil, fmt.Errorf("%w: no action", section.ErrBad)
		}
		return s.act(ctx, *q.Action, q.By)
	}
	e := section.Of(s.host)
	if e == nil {
		return nil, fmt.Errorf("%w: no entity type was started on this node", section.ErrUnknown)
	}
	switch q.Ask {
	case askShards:
		return shardsOf(ctx, e, q)
	case askEntity:
		return e.Entity(q.Type, q.ID)
	case askFind:
		return e.Find(ctx, q.Type, q.ID)
	}
	return nil, fmt.Errorf("%w: %q is not known here; this node may be older", section.ErrBad, q.Ask)
}

func shardsOf(ctx context.Context, e section.Entities, q query) (api.Shards, error) {
	list, total, err := e.Shards(ctx, q.Type, max(0, q.From), min(max(0, q.Limit), api.PageMax))
	return api.Shards{Type: q.Type, Total: total, From: q.From, Shards: list}, err
}

// askOf asks a node, this one too, and reads its answer as a T. It waits for limit at most.
func askOf[T any](ctx context.Context, s *station, node view.UID, limit time.Duration, q query) (x T, err error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if ctx.Err() != nil {
		return x, peers.ErrSilent // it was not asked: others have taken all the time
	}
	if node == s.node.UID() {
		y, err := s.tell(ctx, q)
		if err != nil {
			return x, err
		}
		return y.(T), nil
	}
	body, err := json.Marshal(q)
	if err != nil {
		return x, err
	}
	got, err := s.line.Ask(ctx, node, body)
	if err != nil {
		return x, err
	}
	var r reply
	if err = json.Unmarshal(got, &r); err == nil && r.Error != nil {
		return x, errorOf(*r.Error)
	}
	if err == nil {
		err = json.Unmarshal(r.Value, &x)
	}
	if err != nil {
		err = fmt.Errorf("its answer makes no sense: %w", err)
	}
	return x, err
}

func uidText(u view.UID) string { return fmt.Sprintf("%016x", uint64(u)) }

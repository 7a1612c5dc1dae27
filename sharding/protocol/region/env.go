package region

import (
	"math/rand/v2"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// env is what all parts of a region share: its node, the time of the Step, the view, the effects and
// the counters.
type env struct {
	cfg    protocol.Config
	rng    *rand.Rand
	fx     protocol.RegionEffects
	now    time.Time
	view   *view.View
	lease  bool
	counts protocol.Counters
}

// begin begins a Step.
func (e *env) begin(now time.Time) {
	e.fx = protocol.RegionEffects{
		Do: e.fx.Do[:0], Send: e.fx.Send[:0], Notify: e.fx.Notify[:0], AtRest: e.fx.AtRest[:0],
	}
	e.now = now
}

func (e *env) do(a protocol.RegionAction) { e.fx.Do = append(e.fx.Do, a) }

func (e *env) send(to protocol.UID, m protocol.Message) {
	e.fx.Send = append(e.fx.Send, protocol.Envelope{To: to, Msg: m})
}

func (e *env) notify(ev protocol.Event) { e.fx.Notify = append(e.fx.Notify, ev) }

func (e *env) countIgnored() { e.counts[protocol.CountIgnored]++ }

func (e *env) self() protocol.UID { return e.cfg.Self }

func (e *env) inView(u protocol.UID) bool { return e.view != nil && e.view.Has(u) }

// ahead reports whether a decision was made in a view that this node has not installed yet.
func (e *env) ahead(t protocol.Token) bool { return e.view == nil || uint64(e.view.Epoch) < t.Epoch }

// closing reports whether the whole cluster shuts down.
func (e *env) closing() bool { return e.view != nil && e.view.Closing }

package drivers

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/membership"
	"github.com/coterie-go/coterie/ddata/membership/arbitration"
	"github.com/coterie-go/coterie/ddata/membership/message"
	"github.com/coterie-go/coterie/ddata/membership/nodelease"
	"github.com/coterie-go/coterie/ddata/membership/view"
)

// membersHost notes what a Members does, in order.
type membersHost struct {
	did   []string
	lease nodelease.Lease
}

func (h *membersHost) note(what string) { h.did = append(h.did, what) }

func (h *membersHost) Publish(l nodelease.Lease) {
	h.note("publish")
	h.lease = l
}
func (h *membersHost) Write([]byte)                  { h.note("write") }
func (h *membersHost) Covers(time.Time) bool         { return true }
func (h *membersHost) Unmarked(message.Envelope)     { h.note("unmarked") }
func (h *membersHost) Connect(*view.View)            { h.note("connect") }
func (h *membersHost) Send(message.Envelope, []byte) { h.note("send") }
func (h *membersHost) Disconnect()                   { h.note("disconnect") }
func (h *membersHost) Install(*view.View)            { h.note("install") }
func (h *membersHost) Arbitrate(arbitration.Op)      { h.note("arbitrate") }
func (h *membersHost) Event(membership.Event)        { h.note("event") }
func (h *membersHost) Done(error)                    { h.note("done") }

func (h *membersHost) Prolonged() (in membership.ArbiterProlonged, changed bool) { return in, false }

// The lease is published before anything that a step wants is carried out: what comes of that asks
// for the lease of this step, not of the one before.
func TestTheLeaseIsPublishedFirst(t *testing.T) {
	cfg := membership.LAN()
	cfg.UID, cfg.Addr, cfg.Name, cfg.BootstrapExpect = 1, "a:1", "c", 1
	m, err := membership.New(cfg, rand.New(rand.NewPCG(1, 1)), nil)
	if err != nil {
		t.Fatal(err)
	}
	now, h := time.Unix(1000, 0), &membersHost{}
	d := NewMembers(m, h, now)
	for range 100 {
		h.did = nil
		d.Step(now, membership.Tick{})
		if h.did[0] != "publish" || slices.Contains(h.did[1:], "publish") {
			t.Fatalf("it did %q", h.did)
		}
		if slices.Contains(h.did, "install") {
			if !slices.Equal(h.did[:2], []string{"publish", "connect"}) || !h.lease.Holds(now) {
				t.Errorf("it did %q, lease %v", h.did, h.lease)
			}
			return
		}
		now = m.Deadline()
	}
	t.Error("a node that founds alone has no view")
}

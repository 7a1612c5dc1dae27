package membership

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/coterie-go/coterie/ddata/format"
	"github.com/coterie-go/coterie/ddata/locks"
	"github.com/coterie-go/coterie/ddata/membership/arbitration"
	"github.com/coterie-go/coterie/ddata/membership/bootstrap"
	"github.com/coterie-go/coterie/ddata/membership/message"
	"github.com/coterie-go/coterie/ddata/membership/nextview"
	"github.com/coterie-go/coterie/ddata/membership/paxos"
	"github.com/coterie-go/coterie/ddata/membership/record"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/ddata/transport"
	"github.com/coterie-go/coterie/durable/lmdb"
	"github.com/coterie-go/coterie/proptest/defect"
)

// manySpared is a retirement that spares as many as it can.
func manySpared(v *view.View, below view.UID) view.Retirement {
	r := view.Retirement{Below: v.Members[0].UID - 3 + below, Moves: view.MovesMax}
	for i := range view.SparedMax {
		r.Spared = append(r.Spared, r.Below-view.UID(2*(view.SparedMax-i)))
	}
	return r
}

// fullest makes a view that has no room for one more member of its kind, nor for one more set of
// disks.
func fullest(t *testing.T, kind func(i int) view.Member) *view.View {
	t.Helper()
	v := &view.View{
		Format: math.MaxUint16, Cluster: math.MaxUint64, Era: math.MaxUint64, Epoch: math.MaxUint64,
		Parent: view.Hash{1}, LastUp: math.MaxUint32,
		ConfigHash: math.MaxUint64, VotersMax: view.MembersMax,
	}
	for i := range view.PatternsMax {
		p := fmt.Sprintf("%0*x*", view.RoomOfPatterns/view.PatternsMax-4, i)
		if v.Moves = view.MovesMax; i < view.PatternsMax/2 {
			v.Durable = append(v.Durable, p)
		} else {
			v.Moving = append(v.Moving, p)
		}
	}
	used, _ := view.RoomFor(nil)
	for i := 0; ; i++ {
		m := kind(i)
		m.UID, m.Disk = view.UID(rand.Uint64()|1<<63), view.DiskID(rand.Uint64()|1<<63)
		m.Status, m.UpNumber = view.Leaving, math.MaxUint32-uint32(i)
		m.Formats = format.Range{Min: math.MaxUint16, Max: math.MaxUint16}
		if used.Add(m) != "" {
			break
		}
		v.Members = append(v.Members, m)
	}
	v.Sort()
	var sets []view.DiskSet
	for e := range view.Epoch(view.SetsMax + 2) {
		for _, s := range v.Own() {
			s.Epoch = math.MaxUint64 - view.SetsMax - 5 + e
			s.Disks = slices.Clone(s.Disks)
			s.Disks[0] -= view.DiskID(e) + 1 // as if others had been in
			slices.Sort(s.Disks)
			sets = append(sets, s)
		}
	}
	v.Inherit(sets)
	var offers []view.Service
	for i := range view.LinesMax {
		offers = append(offers, view.Service{Name: fmt.Sprintf("sharding/%0*d", 20+i%50, i)})
	}
	slices.SortFunc(offers, view.Service.Compare)
	v.Enlist(func(view.UID) []view.Service { return offers })
	if full := len(v.Lines); full == 0 || full == view.LinesMax {
		t.Errorf("%d lines, and there is room for more", full)
	}
	v.Ages = &view.Ages{
		AgreedIn: math.MaxUint64 - 1, Ended: manySpared(v, 1), Ending: manySpared(v, 2), Began: math.MaxUint64,
	}
	if err := v.Check(); err != nil {
		t.Fatal(err)
	}
	return v
}

// TestALegalViewFits: with every bound reached at once, a view fits where it is stored, and what is
// said of it fits into a frame of the Control lane.
func TestALegalViewFits(t *testing.T) {
	long := strings.Repeat("x", view.AddrMax-8)
	for name, kind := range map[string]func(i int) view.Member{
		"short": func(i int) view.Member { return view.Member{Addr: fmt.Sprintf("%x", i), Roles: []string{"r"}} },
		"usual": func(i int) view.Member {
			return view.Member{
				Addr:  fmt.Sprintf("shop-%d.shop.default.svc.cluster.local:7946", i),
				Roles: []string{"backend"}, AppVersion: "1.12.3",
			}
		},
		"long": func(i int) view.Member {
			m := view.Member{Addr: fmt.Sprintf("%s%08d", long, i), AppVersion: strings.Repeat("v", view.NameMax)}
			for r := range view.RolesMax {
				m.Roles = append(m.Roles, fmt.Sprintf("%02d%s", r, strings.Repeat("r", view.NameMax-2)))
			}
			return m
		},
		"many roles": func(i int) view.Member {
			m := view.Member{Addr: fmt.Sprintf("%x", i)}
			for r := range view.RolesMax {
				m.Roles = append(m.Roles, fmt.Sprintf("%02x%06x", r, i))
			}
			return m
		},
		"few roles for all": func(i int) view.Member {
			return view.Member{Addr: fmt.Sprintf("%x", i), Roles: []string{"a", "b", "c", "d"}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			v := fullest(t, kind)
			r := record.Record{Name: strings.Repeat("n", view.NameMax), Last: v, Pending: v, Settled: math.MaxUint64}
			size := len(r.Encode())
			t.Logf("%d members, %d sets: a view of %d bytes, a record of %d",
				len(v.Members), len(v.Unsettled), len(v.Append(nil)), size)
			if size > lmdb.NoteMax {
				t.Errorf("a record of %d bytes, at most %d are stored", size, lmdb.NoteMax)
			}
			if _, err := record.Decode(r.Encode()); err != nil {
				t.Error(err)
			}
			if n := len(arbitration.Record{Cluster: v.Cluster, Epoch: v.Epoch,
				Promised: paxos.Ballot{Round: math.MaxUint64, UID: math.MaxUint64},
				View:     v}.Encode()); n > locks.RecordMax {
				t.Errorf("the arbiter's record of %d bytes, at most %d are kept", n, locks.RecordMax)
			}
			var all []view.UID
			var contacts []bootstrap.Contact
			for i, m := range v.Members {
				all = append(all, m.UID)
				if i < bootstrap.ContactsMax {
					contacts = append(contacts, bootstrap.Contact{UID: m.UID, Addr: m.Addr})
				}
			}
			p := &paxos.Proposal{View: v, Stopped: all}
			self := v.Members[0]
			self.Status, self.UpNumber = view.Joining, 0
			disk := &bootstrap.Memory{Last: r.Last, Pending: r.Pending, Settled: r.Settled}
			probe := bootstrap.Probe{
				Name: r.Name, Durable: view.MergePatterns(v.Durable, v.Moving), At: self.Addr,
				Self: self, Expect: math.MaxUint32, Heard: math.MaxUint64, First: math.MaxUint64,
				Knows: disk.Knows(), Peers: contacts,
				Choice: all[:min(len(all), bootstrap.ContactsMax)],
			}
			ballot := paxos.Ballot{Round: math.MaxUint64, UID: math.MaxUint64}
			for _, msg := range []message.Message{
				message.Commit{View: v}, bootstrap.Locked{View: v}, probe, message.Accept{
					Cluster: v.Cluster, Epoch: v.Epoch, Ballot: ballot, Proposal: p,
				},
				message.Prepared{
					Cluster: v.Cluster, Epoch: v.Epoch, Ballot: ballot, AcceptedBallot: ballot, Accepted: p,
				},
			} {
				if n := len(message.Append(nil, msg)); n > transport.DefaultFrameMax {
					t.Errorf("a %T of %d bytes, at most %d are sent", msg, n, transport.DefaultFrameMax)
				}
			}
		})
	}
}

// TestNoRoomIsAReason: a node for which a view has no room is refused, and taken in the place of
// the incarnation before it.
func TestNoRoomIsAReason(t *testing.T) {
	_, oldest, _, _ := scripted(t, defect.Set{}, nil)
	v := *oldest.m.View()
	for i := len(v.Members); i < view.MembersMax; i++ {
		m := view.Member{
			UID: view.UID(1<<40 + i), Addr: fmt.Sprintf("other-%d.example:7946", i),
			Roles: []string{"r"}, Status: view.Joining, Formats: format.Build(),
		}
		if v.NoRoom(m) != "" {
			break
		}
		v.Members = append(v.Members, m)
	}
	v.Sort()
	oldest.m.member.view = view.Install(&v, oldest.m.member.view.At)
	probe := bootstrap.Probe{
		Settings: oldest.m.common.Settings, Self: view.Member{
			UID: 7, Addr: "late.example:7946", Roles: []string{"r"}, Status: view.Joining, Formats: format.Build(),
		},
	}
	gate, leads := oldest.m.member.gate, oldest.m.member.ballots.leads
	if reason, text := gate.refusal(probe, leads()); reason != bootstrap.ReasonRoom ||
		!strings.Contains(text, "more than") {
		t.Errorf("one more is refused with %v: %s", reason, text)
	}
	probe.Self.Addr = v.Members[len(v.Members)-1].Addr
	if reason, text := gate.refusal(probe, leads()); reason == bootstrap.ReasonRoom {
		t.Errorf("a restarted member has no room: %s", text)
	}
	probe.Self.Addr = "late.example:7946"
	probe.Heard, probe.First = v.Epoch, v.Epoch
	oldest.m.member.gate.joiners.Remember(oldest.local(), v.Epoch, probe)
	if p := nextview.Compose(oldest.m.cfg.voting().Config, oldest.m.member.ballots.scene().Scene); !p.Admits ||
		p.Changed ||
		len(p.Proposal.View.Members) != len(v.Members) {
		t.Error("a candidate lists a node for which it has no room")
	}
}

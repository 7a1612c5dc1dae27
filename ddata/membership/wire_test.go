package membership

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/coterie-go/coterie/crdt/cbor"
	"github.com/coterie-go/coterie/ddata/format"
	"github.com/coterie-go/coterie/ddata/membership/arbitration"
	"github.com/coterie-go/coterie/ddata/membership/bootstrap"
	"github.com/coterie-go/coterie/ddata/membership/message"
	"github.com/coterie-go/coterie/ddata/membership/paxos"
	"github.com/coterie-go/coterie/ddata/membership/record"
	"github.com/coterie-go/coterie/ddata/membership/report"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/proptest/golden"
)

func sampleView() *view.View {
	return &view.View{
		Format: 1, Cluster: 7, Epoch: 3, Parent: view.Hash{1, 2, 3}, LastUp: 2, ConfigHash: 99,
		Founded: true, Closing: true, Era: 12,
		Unsettled: []view.DiskSet{
			{Epoch: 1, Role: "x", Disks: []view.DiskID{4, 5}}, {Epoch: 2, Role: "x", Disks: []view.DiskID{4}},
		},
		Members: []view.Member{
			{
				UID: 1, Addr: "a:1", Roles: []string{"x", "y"}, AppVersion: "1.2", Status: view.Up, UpNumber: 1,
				Disk: 4, Formats: format.Range{Min: 1, Max: 3},
			},
			{UID: 2, Addr: "b:1", Status: view.Joining, Formats: format.Range{Min: 1, Max: 3}},
			{UID: 3, Addr: "c:1", Status: view.Leaving, UpNumber: 2, Disk: 5, Formats: format.Range{Min: 1, Max: 3}},
		},
		Lines: view.Lines{
			{Service: view.Service{Name: "s"}, Members: []view.UID{3, 1}},
			{Service: view.Service{Role: "x", Name: "s"}, Members: []view.UID{1}},
		},
	}
}

// agedView is a view of the level that says which incarnations are over.
func agedView() *view.View {
	v := sampleView()
	v.Format, v.Moves = format.Ages, 3
	v.Ages = &view.Ages{
		Came: 7, Ended: view.Retirement{Below: 9, Spared: []view.UID{1, 2, 3, 5}, Moves: 2}, AgreedIn: 2,
		Ending: view.Retirement{Below: 12, Spared: []view.UID{1, 2, 3}, Moves: 3}, Began: 12,
	}
	return v
}

// changedView says a view of which the parent is not known here.
func changedView() *view.Change {
	v := agedView()
	v.Format, v.Members = format.Changes, v.Members[1:2]
	v.Unsettled = []view.DiskSet{{Epoch: 2, Role: "x"}}
	return &view.Change{View: v, Gone: []view.UID{7, 9}, Hash: view.Hash{5}}
}

func sampleMessages() []message.Message {
	v, b := sampleView(), paxos.Ballot{Round: 3, UID: 9}
	p := &paxos.Proposal{View: v, Stopped: []view.UID{8, 9}}
	return []message.Message{
		bootstrap.Probe{
			Name: "n", Settings: []bootstrap.Setting{bootstrap.NewSetting("shards", 3)},
			Self:   view.Member{UID: 4, Addr: "d:1", Status: view.Joining, Formats: format.Range{Min: 1, Max: 3}},
			At:     "a:1",
			Expect: 3, AnyDisks: true, Heard: 6, First: 5,
			Knows: []bootstrap.Known{{Cluster: 1, Era: 11, Epoch: 2, Pending: true,
				Founding: true, Voters: []view.Member{{
					UID: 8, Addr: "e:1", Status: view.Up, UpNumber: 1, Disk: 1, Formats: format.Range{Min: 1, Max: 3},
				}, {
					UID: 5, Addr: "f:1", Status: view.Leaving, UpNumber: 4, Disk: 2,
					Formats: format.Range{Min: 1, Max: 3},
				}}, Settled: 1,
				Sets: []view.DiskSet{{Epoch: 2, Role: "x", Disks: []view.DiskID{2}}}}},
			Peers: []bootstrap.Contact{{UID: 1, Addr: "a:1"}}, Choice: []view.UID{1, 4}, Waits: true,
		},
		bootstrap.JoinReply{Cluster: 7, Epoch: 3, Contacts: []bootstrap.Contact{{UID: 1, Addr: "a:1"}}, Closing: true},
		bootstrap.Refuse{To: 4, Reason: bootstrap.ReasonConfig, Text: "why"},
		bootstrap.Locked{View: v},
		message.Heartbeat{
			Cluster: 7, Epoch: 3, Tag: 1 << 63, Mono: -5, Wall: 1 << 62, Flags: report.Frozen | report.Stopped,
			Settled: 2, Downs: []view.UID{3}, Offers: []view.Service{{Name: "r"}, {Role: "x", Name: "s"}},
		},
		message.Grant{Cluster: 7, Epoch: 3, Mono: 1, Wall: 2, Granted: true, Closes: true},
		message.Fetch{Cluster: 7},
		message.Commit{View: v},
		message.Prepare{Cluster: 7, Epoch: 3, Ballot: b, Drops: []view.UID{1}},
		message.Prepared{Cluster: 7, Epoch: 3, Ballot: b, AcceptedBallot: b, Accepted: p, Wait: 12},
		message.Prepared{Cluster: 7, Epoch: 3, Ballot: b},
		message.Accept{Cluster: 7, Epoch: 3, Ballot: b, Proposal: p},
		message.Accepted{Cluster: 7, Epoch: 3, Ballot: b},
		message.Rejected{Cluster: 7, Epoch: 3, Ballot: b, Promised: b, Wait: 4},
		message.Learned{Cluster: 7, Epoch: 3, Stopped: true},
		message.Crashed{Cluster: 7, Epoch: 3, Members: []view.UID{1, 4}},
		message.Agreed{Cluster: 7, Epoch: 3},
		bootstrap.Probe{
			Self:  view.Member{UID: 4, Addr: "d:1", Status: view.Joining, Formats: format.Range{Min: 1, Max: 3}},
			Knows: []bootstrap.Known{{Cluster: 1, Epoch: 2, Complete: true}}, Ended: true,
		},
		message.Commit{View: agedView()},
		bootstrap.Refuse{To: 4, Reason: bootstrap.ReasonGone, Text: "why", Least: 1 << 63},
		bootstrap.Probe{
			Self:  view.Member{UID: 4, Addr: "d:1", Status: view.Joining, Formats: format.Range{Min: 1, Max: 3}},
			Knows: []bootstrap.Known{{Cluster: 1, Epoch: 2, Ages: agedView().Ages.Carried()}}, Clean: 3,
		},
		message.Change{Change: changedView()},
	}
}

// levelOf is the format level from which on a message is written.
func levelOf(m message.Message) format.Level {
	switch m := m.(type) {
	case message.Crashed:
		return format.Crashes
	case message.Agreed:
		return format.Ages
	case message.Commit:
		return m.View.Format
	case message.Change:
		return format.Changes
	}
	return format.Initial
}

func TestMessagesSurviveTheWire(t *testing.T) {
	for _, m := range sampleMessages() {
		b := message.Append([]byte("x"), m)
		got, err := message.Decode(b[1:])
		if err != nil {
			t.Errorf("%v: %v", m, err)
		} else if !reflect.DeepEqual(got, m) {
			t.Errorf("got  %#v\nwant %#v", got, m)
		}
		if m.String() == "" {
			t.Errorf("%T prints nothing", m)
		}
	}
}

func TestSmallMessagesAreSmall(t *testing.T) {
	hb := message.Heartbeat{
		Cluster: 1 << 63, Epoch: 1000, Tag: 1 << 63, Mono: 1 << 50, Wall: 1 << 60,
		Flags: report.CaughtUp, Settled: 1000,
	}
	if n := len(message.Append(nil, hb)); n > 60 {
		t.Errorf("a heartbeat takes %d bytes", n)
	}
}

// TestDecodeRefuses: what no machine would send.
func TestDecodeRefuses(t *testing.T) {
	spoil := func(change func(*view.View)) message.Message {
		v := sampleView()
		change(v)
		return message.Commit{View: v}
	}
	for name, m := range map[string]message.Message{
		"no view":           message.Commit{},
		"no members":        spoil(func(v *view.View) { v.Members = nil }),
		"disorder":          spoil(func(v *view.View) { v.Members[0].UID = 9 }),
		"one address twice": spoil(func(v *view.View) { v.Members[1].Addr = "a:1" }),
		"one number twice":  spoil(func(v *view.View) { v.Members[2].UpNumber = 1 }),
		"number too high":   spoil(func(v *view.View) { v.LastUp = 1 }),
		"no voters":         spoil(func(v *view.View) { v.Members = v.Members[1:2] }),
		"Up, no number":     spoil(func(v *view.View) { v.Members[1].Status = view.Up }),
		"no proposal":       message.Accept{Cluster: 1, Epoch: 1},
		"unknown flag":      message.Heartbeat{Flags: 1 << 7},
		"arbiter alone":     message.Grant{Cluster: 1, Epoch: 1, Arbiter: true},
		"drops in disorder": message.Prepare{Drops: []view.UID{2, 1}},
		"crashed twice":     message.Crashed{Members: []view.UID{2, 2}},
		"uid zero":          message.Heartbeat{Downs: []view.UID{0}},
		"no service":        message.Heartbeat{Offers: []view.Service{{Role: "x"}}},
		"services twice":    message.Heartbeat{Offers: []view.Service{{Name: "s"}, {Name: "s"}}},
		"long reason":       bootstrap.Refuse{Text: string(make([]byte, bootstrap.ReasonMax+1))},
		"probe of a voter":  bootstrap.Probe{Self: sampleView().Members[0]},
		"no formats":        spoil(func(v *view.View) { v.Members[1].Formats = format.Range{} }),
		"no level":          spoil(func(v *view.View) { v.Format = 0 }),
	} {
		if got, err := message.Decode(message.Append(nil, m)); !errors.Is(err, message.ErrMalformed) {
			t.Errorf("%s: decoded %v, %v", name, got, err)
		}
	}
	for _, b := range [][]byte{nil, {1}, {2, 1, 0x80}, {1, 99, 0x80}, {1, 7, 0x9f, 0xff}, {1, 7, 0xc0, 0x80}} {
		if got, err := message.Decode(b); !errors.Is(err, message.ErrMalformed) {
			t.Errorf("% x: decoded %v, %v", b, got, err)
		}
	}
}

// The bytes are a promise to peers of other versions, to disks and to arbiters.
func TestGoldenBytes(t *testing.T) {
	var samples []golden.Sample
	for _, m := range sampleMessages() {
		samples = append(samples, golden.Sample{
			Name: "membership." + reflect.TypeOf(m).Name(), Level: levelOf(m), Bytes: message.Append(nil, m),
			Read: golden.Reads(message.Decode), Want: m,
		})
	}
	golden.Kinds(t, knownKinds(), samples, func(b []byte) byte { return b[1] })
	r := record.Record{Name: "n", Last: sampleView(), Pending: sampleView(), Settled: 2, Free: true}
	a := arbitration.Record{Cluster: 7, Epoch: 3, Promised: paxos.Ballot{Round: 3, UID: 9}, View: sampleView()}
	aged := record.Record{Name: "n", Last: agedView(), Clean: record.Clean{Upto: 2, Roles: []string{"x", "y"}}}
	var none record.Record
	golden.Formats(t, append(samples, []golden.Sample{
		{Name: "view", Bytes: sampleView().Append(nil), Read: golden.Reads(decodeView), Want: sampleView()},
		{Name: "record", Bytes: r.Encode(), Read: golden.Reads(record.Decode), Want: r},
		{Name: "aged record", Level: format.Ages, Bytes: aged.Encode(), Read: golden.Reads(record.Decode), Want: aged},
		{Name: "empty record", Bytes: none.Encode(), Read: golden.Reads(record.Decode), Want: none},
		{Name: "arbiter's record", Bytes: a.Encode(), Read: golden.Reads(arbitration.Decode), Want: a},
	}...))
}

func decodeView(b []byte) (*view.View, error) {
	var v view.View
	return &v, cbor.Records.Decode(b, &v)
}

// knownKinds are the kinds of messages that Decode knows.
func knownKinds() (kinds []byte) {
	none := message.Append(nil, message.Fetch{})
	for k := range byte(255) {
		none[1] = k
		if _, err := message.Decode(none); err == nil || !strings.Contains(err.Error(), "unknown kind") {
			kinds = append(kinds, k)
		}
	}
	return kinds
}

func FuzzDecodeMessage(f *testing.F) {
	for _, m := range sampleMessages() {
		f.Add(message.Append(nil, m))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := message.Decode(b)
		if err != nil {
			return
		}
		again, err := message.Decode(message.Append(nil, m))
		if err != nil {
			t.Fatalf("%v: %v", m, err)
		}
		if !bytes.Equal(message.Append(nil, again), message.Append(nil, m)) {
			t.Fatalf("%v became %v", m, again)
		}
	})
}

// FuzzStep: whatever decodes, a machine takes it and keeps its invariants.
func FuzzStep(f *testing.F) {
	for _, m := range sampleMessages() {
		f.Add(message.Append(nil, m), uint64(3))
	}
	f.Fuzz(func(t *testing.T, b []byte, from uint64) {
		m, err := message.Decode(b)
		if err != nil {
			return
		}
		w := newWorld(t, 1, LAN())
		w.base.Compatibility = []bootstrap.Setting{bootstrap.NewSetting("shards", 3)}
		ns := w.found(3)
		seeking := w.start("s", nil)
		w.cut = func(*node, *node) bool { return true }
		us := append([]view.UID{view.UID(from)}, ns[0].uid, ns[1].uid)
		for _, u := range us {
			ns[2].step(Receive{From: u, FromAddr: "z", Msg: m})
			seeking.step(Receive{From: u, FromAddr: "z", Msg: m})
		}
		w.run(1)
		for _, fault := range w.checker.faults {
			t.Error(fault)
		}
	})
}

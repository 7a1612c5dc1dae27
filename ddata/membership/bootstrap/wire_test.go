package bootstrap

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/coterie-go/coterie/crdt/cbor"
	"github.com/coterie-go/coterie/crdt/cbor/cbortest"
	"github.com/coterie-go/coterie/ddata/format"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"pgregory.net/rapid"
)

// anyProbe draws a probe with lists that are nil, empty or not. It need not be within limits.
func anyProbe() *rapid.Generator[Probe] {
	return rapid.Custom(func(t *rapid.T) Probe {
		number, short, flag := rapid.Uint64(), rapid.Uint16(), rapid.Bool()
		text := rapid.SampledFrom([]string{"", "host:1", "ö", "a text of more than 23 bytes"})
		texts := cbortest.ListOf(text, 3)
		members := rapid.Custom(func(t *rapid.T) view.Member {
			return view.Member{
				UID: view.UID(number.Draw(t, "uid")), Addr: text.Draw(t, "addr"), Roles: texts.Draw(t, "roles"),
				AppVersion: text.Draw(t, "version"), Status: view.Status(rapid.Byte().Draw(t, "status")),
				UpNumber: rapid.Uint32().Draw(t, "up"), Disk: view.DiskID(number.Draw(t, "disk")),
				Formats: format.Range{Min: 1, Max: format.Level(short.Draw(t, "max"))},
			}
		})
		sets := rapid.Custom(func(t *rapid.T) view.DiskSet {
			return view.DiskSet{
				Epoch: view.Epoch(number.Draw(t, "epoch")), Role: text.Draw(t, "role"),
				Disks: []view.DiskID{view.DiskID(number.Draw(t, "disk"))},
			}
		})
		knows := rapid.Custom(func(t *rapid.T) Known {
			k := Known{
				Cluster: view.ClusterID(number.Draw(t, "cluster")), Era: view.Era(number.Draw(t, "era")),
				Epoch: view.Epoch(number.Draw(t, "epoch")), Pending: flag.Draw(t, "pending"),
				Founding: flag.Draw(t, "founding"), Voters: cbortest.ListOf(members, 3).Draw(t, "voters"),
				Settled: view.Epoch(number.Draw(t, "settled")), Sets: cbortest.ListOf(sets, 3).Draw(t, "sets"),
				Durable: texts.Draw(t, "durable"), Moves: short.Draw(t, "moves"),
				Format: format.Level(short.Draw(t, "format")), Complete: flag.Draw(t, "complete"),
			}
			if flag.Draw(t, "has ages") {
				k.Ages = &view.Ages{Came: rapid.Uint32().Draw(t, "came"), Began: view.UID(number.Draw(t, "began"))}
			}
			return k
		})
		contacts := rapid.Custom(func(t *rapid.T) Contact {
			return Contact{UID: view.UID(number.Draw(t, "uid")), Addr: text.Draw(t, "addr")}
		})
		settings := rapid.Custom(func(t *rapid.T) Setting {
			return Setting{Name: text.Draw(t, "name"), Value: text.Draw(t, "value")}
		})
		p := Probe{
			Name: text.Draw(t, "name"), Settings: cbortest.ListOf(settings, 3).Draw(t, "settings"),
			Durable: texts.Draw(t, "durable"),
			Self:    members.Draw(t, "self"), At: text.Draw(t, "at"), Expect: rapid.Uint32().Draw(t, "expect"),
			AnyDisks: flag.Draw(t, "any disks"), Heard: view.Epoch(number.Draw(t, "heard")),
			First: view.Epoch(number.Draw(t, "first")), Knows: cbortest.ListOf(knows, 3).Draw(t, "knows"),
			Peers: cbortest.ListOf(contacts, 3).Draw(t, "peers"), Waits: flag.Draw(t, "waits"),
			Ended: flag.Draw(t, "ended"),
		}
		if flag.Draw(t, "has a choice") {
			p.Choice = []view.UID{view.UID(number.Draw(t, "choice"))}
		}
		if flag.Draw(t, "has a clean disk") {
			p.Clean = view.UID(number.Draw(t, "clean"))
		}
		return p
	})
}

// A probe that is encoded field by field has the bytes of the reflection, and is read as it reads them.
func TestProbeIsEncodedAsByReflection(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := anyProbe().Draw(t, "probe")
		b := p.Append(nil)
		if want := cbor.Records.MustAppend(nil, p); !bytes.Equal(b, want) {
			t.Fatalf("%+v\ngot  % x\nwant % x", p, b, want)
		}
		if got, ok := readProbe(b); !ok || !reflect.DeepEqual(got, p) {
			t.Fatalf("%+v\nwas read as %+v: %t", p, got, ok)
		}
		cbortest.Near(t, b, func(b []byte) { readsAsReflection(t, b) })
	})
}

// A probe of a build that adds a key is decoded without it.
func TestProbeWithAnotherKey(t *testing.T) {
	p := Probe{Name: "n", Self: view.Member{UID: 1}, Ended: true, Clean: 7}
	b := p.Append(nil)
	b = append(b, 16, 1)
	b[0]++
	if _, ok := readProbe(b); ok {
		t.Error("a key that is unknown is read")
	}
	if got, err := DecodeProbe(b); err != nil || !reflect.DeepEqual(got, p) {
		t.Errorf("%+v, %v", got, err)
	}
}

// FuzzReadProbe: what is read field by field is what reflection reads.
func FuzzReadProbe(f *testing.F) {
	voters := []view.Member{{UID: 1, Roles: []string{"a"}}}
	k := Known{Cluster: 7, Voters: voters, Complete: true, Ages: &view.Ages{Came: 1}}
	f.Add(Probe{Name: "n", Knows: []Known{k}, Peers: []Contact{{UID: 1}}, Ended: true, Clean: 7}.Append(nil))
	f.Add(Probe{}.Append(nil))
	f.Fuzz(func(t *testing.T, b []byte) { readsAsReflection(t, b) })
}

func readsAsReflection(t interface{ Fatalf(string, ...any) }, b []byte) {
	got, ok := readProbe(b)
	if !ok {
		return // reflection decides
	}
	var want Probe
	if err := cbor.Records.Decode(b, &want); err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("% x\nis read as %+v\nwant %+v: %v", b, got, want, err)
	}
}

// A lock has the bytes of the reflection, with a view or without.
func TestLockedIsEncodedAsByReflection(t *testing.T) {
	for _, v := range []*view.View{nil, {Format: 1, Cluster: 7}, {Format: format.Newest}} {
		l := Locked{View: v}
		if b, want := l.Append(nil), cbor.Records.MustAppend(nil, l); !bytes.Equal(b, want) {
			t.Errorf("%v\ngot  % x\nwant % x", l, b, want)
		}
		if got, err := DecodeLocked(l.Append(nil)); err != nil || !reflect.DeepEqual(got, l) {
			t.Errorf("%v is decoded as %v: %v", l, got, err)
		}
		for n, b := 0, l.Append(nil); n < len(b); n++ {
			if got, err := DecodeLocked(b[:n]); err == nil {
				t.Errorf("%d of %d bytes are decoded as %v", n, len(b), got)
			}
		}
	}
}

package view

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/coterie-go/coterie/crdt/cbor"
	"github.com/coterie-go/coterie/crdt/cbor/cbortest"
	"github.com/coterie-go/coterie/ddata/format"
	"pgregory.net/rapid"
)

// anyView draws a view of any level, with lists that are nil, empty or not. It need not keep the
// invariants.
func anyView() *rapid.Generator[*View] {
	return rapid.Custom(func(t *rapid.T) *View {
		number, short, flag := rapid.Uint64(), rapid.Uint16(), rapid.Bool()
		texts := cbortest.ListOf(rapid.SampledFrom([]string{"", "a", "role", "ö", "a name of more than 23 bytes"}), 4)
		ids := func(what string) (ids []UID) {
			for _, x := range cbortest.ListOf(number, 4).Draw(t, what) {
				ids = append(ids, UID(x))
			}
			return ids
		}
		retirement := func() Retirement {
			return Retirement{Below: UID(number.Draw(t, "below")), Spared: ids("spared"), Moves: short.Draw(t, "moves")}
		}
		text := func(what string) string { return rapid.SampledFrom([]string{"", "host:1", "ö"}).Draw(t, what) }
		members := rapid.Custom(func(t *rapid.T) Member {
			return Member{
				UID: UID(number.Draw(t, "uid")), Addr: text("addr"), Roles: texts.Draw(t, "roles"),
				AppVersion: text("version"), Status: Status(rapid.Byte().Draw(t, "status")),
				UpNumber: rapid.Uint32().Draw(t, "up"), Disk: DiskID(number.Draw(t, "disk")),
				Formats: format.Range{Min: format.Level(short.Draw(t, "min")), Max: format.Level(short.Draw(t, "max"))},
			}
		})
		sets := rapid.Custom(func(t *rapid.T) DiskSet {
			s := DiskSet{Epoch: Epoch(number.Draw(t, "epoch")), Role: text("role")}
			for _, u := range ids("disks") {
				s.Disks = append(s.Disks, DiskID(u))
			}
			return s
		})
		lines := rapid.Custom(func(t *rapid.T) Line {
			return Line{Service: Service{Role: text("role"), Name: text("name")}, Members: ids("line")}
		})
		v := &View{
			Format:  format.Level(rapid.IntRange(0, 6).Draw(t, "format")),
			Cluster: ClusterID(number.Draw(t, "cluster")), Epoch: Epoch(number.Draw(t, "epoch")),
			Members: cbortest.ListOf(members, 4).Draw(t, "members"), LastUp: rapid.Uint32().Draw(t, "last"),
			ConfigHash: number.Draw(t, "config"), Founded: flag.Draw(t, "founded"),
			Unsettled: cbortest.ListOf(sets, 4).Draw(t, "unsettled"), VotersMax: rapid.Uint32().Draw(t, "voters"),
			Closing: flag.Draw(t, "closing"), Era: Era(number.Draw(t, "era")), Durable: texts.Draw(t, "durable"),
			Moving: texts.Draw(t, "moving"), Moves: short.Draw(t, "moves"),
			Lines: cbortest.ListOf(lines, 4).Draw(t, "lines"),
		}
		copy(v.Parent[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "parent"))
		if v.Format >= format.Ages && flag.Draw(t, "has ages") {
			v.Ages = &Ages{
				Came: rapid.Uint32().Draw(t, "came"), Ended: retirement(), AgreedIn: Epoch(number.Draw(t, "agreed")),
				Ending: retirement(), Began: UID(number.Draw(t, "began")),
			}
		}
		return v
	})
}

// A view that is encoded field by field has the bytes of the reflection, and is read as it reads them.
func TestViewIsEncodedAsByReflection(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := anyView().Draw(t, "view")
		b := v.Append(nil)
		want := cbor.Records.MustAppend(nil, (*plain)(v))
		if v.Format < format.Ages {
			want, want[0] = want[:len(want)-1], arrayOf(fieldsBefore)
		}
		if !bytes.Equal(b, want) {
			t.Fatalf("%v\ngot  % x\nwant % x", v, b, want)
		}
		if got, ok := Read(b); !ok || !reflect.DeepEqual(got, v) {
			t.Fatalf("%+v\nwas read as %+v: %t", v, got, ok)
		}
		cbortest.Near(t, b, func(b []byte) { readsAsReflection(t, b) })
	})
}

// FuzzReadView: what is read field by field is what reflection reads.
func FuzzReadView(f *testing.F) {
	f.Add(agedView().Append(nil))
	f.Add((&View{Format: 1, Members: []Member{{UID: 1, Roles: []string{"a"}}}, Durable: []string{}}).Append(nil))
	f.Fuzz(func(t *testing.T, b []byte) { readsAsReflection(t, b) })
}

func readsAsReflection(t interface{ Fatalf(string, ...any) }, b []byte) {
	got, ok := Read(b)
	if !ok {
		return // reflection decides
	}
	if want := new(View); (*plain)(want).decode(b) != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("% x\nis read as %+v\nwant %+v", b, got, want)
	}
}

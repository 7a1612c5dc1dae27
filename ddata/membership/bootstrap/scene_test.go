package bootstrap

import (
	"cmp"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/view"
	"pgregory.net/rapid"
)

// The scene that was computed is that which follows now, whatever was heard, dropped or locked to since.
func TestSceneIsThatOfNow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		of := func(e view.Epoch, disks int) *view.View {
			v := &view.View{Format: 1, Cluster: 7, Epoch: e, Founded: e == 1, LastUp: uint32(disks)}
			for i := range disks {
				v.Members = append(v.Members, view.Member{
					UID: view.UID(100 + i), Disk: view.DiskID(i + 1), Status: view.Up, UpNumber: uint32(i + 1),
				})
			}
			return v
		}
		cfg := Config{Self: view.Member{UID: 5, Addr: "self", Disk: 1}, Expect: 2, TTL: 3 * time.Second}
		memory := &Memory{}
		if rapid.Bool().Draw(t, "remembers") {
			memory.Last = of(2, 2)
		}
		c := &candidates{cfg: &cfg, memory: memory}
		now := time.Unix(1000, 0)
		for range 30 {
			switch rapid.IntRange(0, 9).Draw(t, "step") {
			case 0:
				now = now.Add(time.Second)
				c.dropSilent(now)
			case 1:
				c.lock(of(3, 3))
			default:
				uid := rapid.IntRange(1, 8).Draw(t, "uid")
				p := Probe{
					Self: view.Member{
						UID: view.UID(uid), Addr: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "addr"),
						Disk: view.DiskID(uid),
					},
					Expect: uint32(rapid.IntRange(0, 2).Draw(t, "expect")), Ended: rapid.Bool().Draw(t, "ended"),
				}
				if e := view.Epoch(rapid.IntRange(0, 4).Draw(t, "epoch")); e > 0 && uid != 5 {
					p.Knows = (&Memory{Last: of(e, uid)}).Knows()
				}
				if uid != 5 {
					c.hear(now, p)
				}
			}
			got := c.look()
			fresh := &candidates{cfg: &cfg, memory: &Memory{
				Last: memory.Last, Pending: memory.Pending, Free: memory.Free,
			}, of: c.of}
			if want := fresh.look(); !reflect.DeepEqual(got, want) {
				t.Fatalf("the scene is %+v\nwant %+v", got, want)
			}
			if !slices.IsSortedFunc(c.of, func(a, b *founder) int {
				return cmp.Compare(a.probe.Self.UID, b.probe.Self.UID)
			}) {
				t.Fatalf("out of order: %v", c.probes(now))
			}
		}
	})
}

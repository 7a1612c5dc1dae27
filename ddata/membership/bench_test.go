package membership

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/format"
	"github.com/coterie-go/coterie/ddata/membership/message"
	"github.com/coterie-go/coterie/ddata/membership/view"
)

// big returns a machine that is the oldest of n members, and the time.
func big(b *testing.B, n int) (*Machine, time.Time) {
	cfg := LAN()
	cfg.UID, cfg.Addr, cfg.BootstrapExpect = 1, "1", 1
	m, err := New(cfg, rand.New(rand.NewPCG(1, 1)), nil)
	if err != nil {
		b.Fatal(err)
	}
	now := time.Now()
	m.Step(now, Tick{})
	next := m.member.view.Next(m.member.view.Digest)
	next.LastUp = uint32(n)
	next.Members = append(next.Members, m.member.view.Members[0])
	for i := 2; i <= n; i++ {
		next.Members = append(next.Members, view.Member{
			UID: view.UID(i), Addr: fmt.Sprint(i), Status: view.Up, UpNumber: uint32(i), Formats: format.Build(),
		})
	}
	m.Step(now, Receive{From: 2, Msg: message.Commit{View: next}})
	if m.member.view.Epoch != 2 {
		b.Fatal("not installed")
	}
	return m, now
}

// BenchmarkStep is one heartbeat answered and one grant taken, with timers running at the pace of n
// members.
func BenchmarkStep(b *testing.B) {
	for _, n := range []int{5, 100, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			m, now := big(b, n)
			start := now
			pace := m.cfg.HeartbeatInterval / time.Duration(n)
			hb := m.member.heartbeat()
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				now = now.Add(pace)
				from := view.UID(2 + i%(n-1))
				m.Step(now, Receive{From: from, Msg: hb})
				m.Step(now, Receive{From: from, Msg: message.Grant{Cluster: hb.Cluster, Epoch: hb.Epoch,
					Mono: int64(now.Sub(start)), Wall: now.UnixNano(),
					Granted: true}})
			}
			if n > 5 && !m.Lease().Holds(now) {
				b.Error(m.Lease())
			}
		})
	}
}

// BenchmarkChange is a view in which the youngest of n members goes, or comes back, as the others are told of it.
func BenchmarkChange(b *testing.B) {
	for _, n := range []int{5, 100, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			m, now := big(b, n)
			youngest := m.member.view.Members[n-1]
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				v := m.member.view
				next := v.Next(v.Digest)
				next.Members = v.Members[:n-1]
				if len(v.Members) < n {
					next.LastUp++
					youngest.UID, youngest.UpNumber = youngest.UID+1, next.LastUp
					next.Members = append(slices.Clone(v.Members), youngest)
				}
				change := message.Change{Change: v.ChangeTo(next)}
				b.StartTimer()
				fx := m.Step(now, Receive{From: 2, Msg: change})
				b.StopTimer()
				if m.member.view.Epoch != next.Epoch {
					b.Fatal("not installed")
				}
				for fx.Persist != nil {
					fx = m.Step(now, Persisted{})
				}
				b.StartTimer()
			}
		})
	}
}

// BenchmarkWire is a heartbeat encoded and decoded.
func BenchmarkWire(b *testing.B) {
	hb := message.Heartbeat{Cluster: 1 << 63, Epoch: 1000, Tag: 1 << 63, Mono: 1 << 50, Wall: 1 << 60, Settled: 1000}
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		buf = message.Append(buf[:0], hb)
		if _, err := message.Decode(buf); err != nil {
			b.Fatal(err)
		}
	}
}

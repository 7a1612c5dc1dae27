package transport

import (
	"errors"
	"io"
	"net"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/format"
)

// What an operator can mend is a warning, once for each address and reason; what a restart explains
// is none.
func TestRefusalsAreSaidOnce(t *testing.T) {
	var loud []Refusal
	m, err := Listen(t.Context(), Config{Cluster: "c", Self: 2, Bind: "127.0.0.1:0", OnEvent: onEvent(func(r Refusal) {
		if r.Loud {
			loud = append(loud, r)
		}
	})})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	for i := range 5 {
		for _, r := range []Reason{RefusedCluster, RefusedStream, RefusedIncarnation, RefusedSelf, RefusedGeneration} {
			m.report.warned.Store(0) // as if a second had passed
			m.report.refused(Refusal{
				Inbound: true, Peer: NodeID(i + 10), Addr: "127.0.0.1:1", Cause: ErrRefused{Reason: r},
			})
		}
	}
	if len(loud) != 1 {
		t.Errorf("%d warnings: %v", len(loud), loud)
	}
	for i := range 3 * refusalsSaidMax {
		m.report.warned.Store(0)
		m.report.refused(Refusal{Addr: string(rune('a' + i)), Cause: ErrRefused{Reason: RefusedCluster}})
	}
	if n := len(m.report.said); n > refusalsSaidMax {
		t.Errorf("%d refusals are remembered", n)
	}
}

func TestNodesHaveShortNames(t *testing.T) {
	if s := NodeID(0x0123456789abcdef).String(); s != "89abcdef" {
		t.Error(s)
	}
}

// A refused peer gets nothing across and hears nothing else. A hello that does not fit is followed
// at once by a frame for a handler, by one more hello that would fit, and by a frame behind that.
func TestNothingGetsPastARefusal(t *testing.T) {
	for what, edit := range map[string]func(k *kind, h *hello){
		"another cluster":        func(_ *kind, h *hello) { h.Cluster = "other" },
		"another incarnation":    func(_ *kind, h *hello) { h.To = 77 },
		"no node is meant":       func(_ *kind, h *hello) { h.To = 0 },
		"itself":                 func(_ *kind, h *hello) { h.From = 1 },
		"larger frames":          func(_ *kind, h *hello) { h.FrameMax = 2 * DefaultFrameMax },
		"larger messages":        func(_ *kind, h *hello) { h.MessageMax = 2 * DefaultMessageMax },
		"a stream without taker": func(k *kind, h *hello) { *k, h.To = kindStream, 0 },
		"no such kind":           func(k *kind, _ *hello) { *k = kindWelcome },
		"no such lane":           func(_ *kind, h *hello) { h.Lane = lanes },
		"another version":        func(k *kind, _ *hello) { *k = 0 }, // see below
		"formats to come":        func(_ *kind, h *hello) { h.Formats = format.Range{Min: 1000, Max: 1001} },
		"no formats":             func(_ *kind, h *hello) { h.Formats = format.Range{} },
	} {
		t.Run(what, func(t *testing.T) {
			var handled atomic.Int32
			m, err := Listen(t.Context(), Config{Cluster: "c", Self: 1, Bind: "127.0.0.1:0"})
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			m.Handle(1, HandlerFunc(func(NodeID, []byte) { handled.Add(1) }))
			fits := hello{
				Cluster: "c", From: 9, To: 1, Addr: "10.0.0.1:1", Lane: Data, Generation: 1, Formats: format.Build(),
			}
			k, h := kindLink, fits
			edit(&k, &h)
			say, err := appendHandshake(nil, k, h)
			if err != nil {
				t.Fatal(err)
			}
			if k == 0 {
				say[4]++
			}
			say = appendFrame(say, 1, []byte("now"))
			if say, err = appendHandshake(say, kindLink, fits); err != nil {
				t.Fatal(err)
			}
			say = appendFrame(say, 1, []byte("and now"))
			conn, err := net.Dial("tcp", m.Addr())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if _, err := conn.Write(say); err != nil {
				t.Fatal(err)
			}
			_ = conn.SetReadDeadline(time.Now().Add(10 * time.Second))
			// a reset may overtake the answer, because not all was read
			if k, body, err := readHandshake(conn); err == nil {
				if _, err := decodeAnswer(k, body); k != kindRefusal || err == nil {
					t.Errorf("answer %d: %v", k, err)
				}
			}
			if rest, _ := io.ReadAll(conn); len(rest) > 0 {
				t.Errorf("it hears %q behind the refusal", rest)
			}
			if s := m.Stats(); handled.Load() != 0 || s.FramesIn != 0 || s.Readers != 0 ||
				s.Dropped[DropRefusedIn] != 1 {
				t.Errorf("%d frames handled; %v", handled.Load(), s)
			}
		})
	}
}

// A node that dials says hello and nothing else until it is welcome, however much it has to send.
// When it is refused, it says no more at all.
func TestNothingIsSentBeforeTheWelcome(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	m, err := Listen(t.Context(), Config{Cluster: "c", Self: 1, Bind: "127.0.0.1:0", HelloTimeout: 2 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if err := m.AddPeer(9, l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if err := m.Send(9, Control, 0, 1, []byte("secret")); err != nil {
		t.Fatal(err)
	}
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	k, body, err := readHandshake(conn)
	if err != nil || k != kindLink {
		t.Fatal(k, err)
	}
	if _, err := decodeHello(body); err != nil {
		t.Fatal(err)
	}
	_ = conn.SetReadDeadline(time.Now().Add(200 * time.Millisecond))
	if n, err := conn.Read(make([]byte, 100)); n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%d bytes before the welcome: %v", n, err)
	}
	answer, err := appendHandshake(nil, kindRefusal, answer{From: 9, Reason: RefusedCluster})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write(answer); err != nil {
		t.Fatal(err)
	}
	_ = conn.SetReadDeadline(time.Now().Add(10 * time.Second))
	if rest, err := io.ReadAll(conn); len(rest) > 0 || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%q behind the refusal: %v", rest, err)
	}
}

// Of many refusals at a time one is said in a second; those that had to wait are said when they
// come again, not after a minute.
func TestRefusalsWaitForEachOther(t *testing.T) {
	loud := map[string]int{}
	m, err := Listen(t.Context(), Config{Cluster: "c", Self: 2, Bind: "127.0.0.1:0", OnEvent: onEvent(func(r Refusal) {
		if r.Loud {
			loud[r.Addr]++
		}
	})})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	refuse := func() {
		for _, addr := range []string{"a:1", "b:1"} {
			m.report.refused(Refusal{Addr: addr, Cause: ErrRefused{Reason: RefusedCluster}})
		}
	}
	if refuse(); loud["a:1"] != 1 || loud["b:1"] != 0 {
		t.Errorf("at first: %v", loud)
	}
	m.report.warned.Store(0) // as if a second had passed
	if refuse(); loud["a:1"] != 1 || loud["b:1"] != 1 {
		t.Errorf("after a second: %v", loud)
	}
}

// A node reports that no node answers at an address, though no peer is known there.
func TestNobodyAtAnAddressIsTold(t *testing.T) {
	told := make(chan ConnectionFault, 1)
	hear := onEvent(func(f ConnectionFault) {
		select {
		case told <- f:
		default:
		}
	})
	m, err := Listen(t.Context(), Config{Cluster: "c", Self: 2, Bind: "127.0.0.1:0", OnEvent: hear})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if err := m.SendAddr("127.0.0.1:1", 1, []byte("anybody?")); err != nil {
		t.Fatal(err)
	}
	if f := <-told; f.Kind != FaultDial || f.Addr != "127.0.0.1:1" || f.Err == nil {
		t.Errorf("%+v", f)
	}
}

// onEvent is a Config.OnEvent for one kind of event.
func onEvent[E Event](hear func(E)) func(Event) {
	return func(e Event) {
		if e, ok := e.(E); ok {
			hear(e)
		}
	}
}

package failure_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/scheduler"
	"github.com/coterie-go/coterie/sharding/codec"
	"github.com/coterie-go/coterie/sharding/failure"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestDropsCountAndTell(t *testing.T) {
	var told []failure.Drop
	d := failure.NewDrops("cart", func(e events.Event) { told = append(told, e.(failure.Drop)) })
	d.Drop(failure.DropStopped, 3, "a", "message")
	d.Drop(failure.DropStopped, 4, "b", nil)
	d.Drop(failure.DropLateReply, failure.NoShard, "", nil)
	got := ""
	for reason, n := range d.All() {
		if n > 0 {
			got += fmt.Sprint(reason, " ", n, "; ")
		}
	}
	if got != "stopped 2; late reply 1; " || d.Count(failure.DropStopped) != 2 {
		t.Error(got)
	}
	want := failure.Drop{Type: "cart", ID: "a", Shard: 3, Reason: failure.DropStopped, Message: "message"}
	if len(told) != 3 || told[0] != want || told[0].String() != `cart/3/"a" dropped: stopped (string)` {
		t.Error(told)
	}
}

// Every reason has a name of its own, and each asker gets an error for it.
func TestReasonsReachTheAsker(t *testing.T) {
	names := map[string]bool{}
	for reason := range failure.NewDrops("cart", nil).All() {
		if name := reason.String(); name == "" || names[name] {
			t.Errorf("reason %d has the name %q", reason, name)
		}
		names[reason.String()] = true
		if err := failure.OfStatus(failure.StatusOf(reason), reason.String()); err == nil ||
			!strings.HasSuffix(err.Error(), reason.String()) {
			t.Errorf("%v: the asker gets %v", reason, err)
		}
	}
	for reason, want := range map[failure.DropReason]error{
		failure.DropMailboxBytes: failure.ErrBufferFull, failure.DropForced: failure.ErrStopped,
		failure.DropLeaseLost: failure.ErrNoLease, failure.DropCodecPanic: failure.ErrEncoding,
		failure.DropTooLarge: failure.ErrMessageTooLarge, failure.DropInvalidID: failure.ErrInvalidID,
		failure.DropUnregistered: failure.ErrUnregisteredMessage, failure.DropUnsent: failure.ErrUnsent,
		failure.DropNodeLost: failure.ErrNodeGone,
	} {
		if err := failure.OfStatus(failure.StatusOf(reason), ""); !errors.Is(err, want) {
			t.Errorf("%v: the asker gets %v, want %v", reason, err, want)
		}
	}
	if err := failure.OfStatus(codec.StatusEnd, "?"); !errors.Is(err, failure.ErrEncoding) {
		t.Errorf("a status of a later version: %v", err)
	}
}

func TestDropOf(t *testing.T) {
	for want, err := range map[failure.DropReason]error{
		failure.DropMailboxBytes: fmt.Errorf("x: %w", failure.NoRoom{Reason: failure.DropMailboxBytes}),
		failure.DropCodecPanic:   fmt.Errorf("x: %w", &codec.Panic{What: "decoder"}),
		failure.DropUnregistered: failure.ErrUnregisteredMessage,
		failure.DropTooLarge:     failure.ErrMessageTooLarge,
		failure.DropUndecodable:  failure.ErrEncoding,
	} {
		if got := failure.DropOf(err); got != want {
			t.Errorf("%v: %v, want %v", err, got, want)
		}
	}
	if !errors.Is(failure.NoRoom{}, failure.ErrBufferFull) {
		t.Error("a mailbox without room is no full buffer")
	}
}

// An asker finds a known error by errors.Is, near and far, with the same text.
func TestKnownErrorsTravel(t *testing.T) {
	empty, full := errors.New("empty"), errors.New("full")
	k := failure.Known{empty, full}
	cause := fmt.Errorf("the cart is %w", full)
	known := k.Of(cause)
	near, far := failure.OfHandler(known, cause), k.Read(failure.Text(known, cause))
	if text := "sharding: handler answered: " + cause.Error(); near.Error() != text || far.Error() != text {
		t.Errorf("%q and %q, want %q", near, far, text)
	}
	for _, err := range []error{near, far} {
		if !errors.Is(err, full) || errors.Is(err, empty) || !errors.Is(err, failure.ErrHandler) ||
			err.Error() != near.Error() {
			t.Error(err)
		}
	}
	if err := (failure.Known{empty}).Read(failure.Text(known, cause)); errors.Is(err, full) ||
		!errors.Is(err, failure.ErrHandler) || err.Error() != near.Error() {
		t.Errorf("on a node that does not list it: %v", err)
	}
	if got := k.Of(errors.New("full")); got != nil {
		t.Errorf("another error of the same text is %v", got)
	}
}

func TestCheckKnown(t *testing.T) {
	good := failure.Known{errors.New("empty"), errors.New("full")}
	if err := good.Check(); err != nil {
		t.Error(err)
	}
	for name, bad := range map[string]failure.Known{
		"nil": {nil}, "no text": {errors.New("")}, "long": {errors.New(strings.Repeat("x", 257))},
		"zero byte": {errors.New("a\x00")}, "twice": {errors.New("a"), errors.New("a")},
	} {
		if bad.Check() == nil {
			t.Errorf("%s: no fault", name)
		}
	}
}

// A hook that panics, or ends its goroutine, does not end its caller.
func TestGuardHook(t *testing.T) {
	var log bytes.Buffer
	p := failure.NewPanics("cart", slog.New(slog.NewTextHandler(&log, nil)), scheduler.Goroutines{})
	for _, hook := range []func(int){func(int) { panic("oh") }, func(int) { runtime.Goexit() }} {
		failure.GuardHook(p, "OnEvent", hook)(1)
	}
	if p.Count() != 1 || !strings.Contains(log.String(), "in=OnEvent panic=oh") {
		t.Errorf("%d panics: %s", p.Count(), &log)
	}
	if failure.GuardHook[int](p, "OnEvent", nil) != nil {
		t.Error("no hook became one")
	}
	p.NoteCodec(errors.New("no panic"))
	p.NoteCodec(fmt.Errorf("x: %w", &codec.Panic{What: "decoder", Text: "oh"}))
	if p.Count() != 2 {
		t.Errorf("%d panics", p.Count())
	}
}

// What may come a million times is logged the first, the second, the fourth time and so on.
func TestPanicsDoNotFloodTheLog(t *testing.T) {
	var log bytes.Buffer
	p := failure.NewPanics("cart", slog.New(slog.NewTextHandler(&log, nil)), scheduler.Goroutines{})
	for range 100 {
		func() {
			defer p.Survive("a box")
			panic("oh")
		}()
	}
	if lines := strings.Count(log.String(), "\n"); p.Count() != 100 || lines != 7 {
		t.Errorf("%d panics, %d lines", p.Count(), lines)
	}
}

package memory

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coterie-go/coterie/proptest/bubble"
)

// ends makes a connection between the first two addresses.
func ends(t *testing.T, h *Hub) (dialler, acceptor net.Conn) {
	t.Helper()
	ln, err := h.At(Addr(2)).Listen(t.Context(), Addr(2))
	if err != nil {
		t.Fatal(err)
	}
	accepted := make(chan net.Conn, 1)
	go func() {
		c, err := ln.Accept()
		if err != nil {
			t.Error(err)
		}
		accepted <- c
	}()
	dialler, err = h.At(Addr(1)).Dial(t.Context(), Addr(2))
	if err != nil {
		t.Fatal(err)
	}
	acceptor = <-accepted
	t.Cleanup(func() {
		dialler.Close()
		acceptor.Close()
		ln.Close()
	})
	return dialler, acceptor
}

func inBubble(t *testing.T, f func(t *testing.T, h *Hub)) {
	bubble.Test(t, func(t *testing.T) { f(t, NewHub()) })
}

func read(t *testing.T, c net.Conn, n int) string {
	t.Helper()
	b := make([]byte, n)
	if _, err := io.ReadFull(c, b); err != nil {
		t.Fatalf("read: %v", err)
	}
	return string(b)
}

func TestDelay(t *testing.T) {
	inBubble(t, func(t *testing.T, h *Hub) {
		a, b := ends(t, h)
		h.Delay(Addr(1), Addr(2), 300*time.Millisecond)
		began := time.Now()
		a.Write([]byte("late"))
		h.Delay(Addr(1), Addr(2), 0)
		a.Write([]byte("r")) // must not overtake
		if got := read(t, b, 5); got != "later" || time.Since(began) != 300*time.Millisecond {
			t.Errorf("%q after %v", got, time.Since(began))
		}
		b.Write([]byte("back"))
		if got := read(t, a, 4); got != "back" || time.Since(began) != 300*time.Millisecond {
			t.Errorf("%q after %v", got, time.Since(began))
		}
	})
}

func TestCutOneWay(t *testing.T) {
	inBubble(t, func(t *testing.T, h *Hub) {
		a, b := ends(t, h)
		h.Cut(Addr(1), Addr(2))
		a.Write([]byte("held"))
		b.Write([]byte("through"))
		if got := read(t, a, 7); got != "through" {
			t.Errorf("%q", got)
		}
		b.SetReadDeadline(time.Now().Add(time.Minute))
		if n, err := b.Read(make([]byte, 1)); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%d bytes, %v through a cut", n, err)
		}
		b.SetReadDeadline(time.Time{})
		time.AfterFunc(time.Minute, func() { h.Heal(Addr(1), Addr(2)) })
		began := time.Now()
		if got := read(t, b, 4); got != "held" || time.Since(began) != time.Minute {
			t.Errorf("%q after %v", got, time.Since(began))
		}
	})
}

func TestDialThroughCut(t *testing.T) {
	inBubble(t, func(t *testing.T, h *Hub) {
		ends(t, h)
		h.Cut(Addr(2), Addr(1)) // the answer is cut off, not the question
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		began := time.Now()
		if _, err := h.At(Addr(1)).Dial(ctx, Addr(2)); !errors.Is(err, context.DeadlineExceeded) ||
			time.Since(began) != time.Minute {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		if _, err := h.At(Addr(1)).Dial(t.Context(), Addr(3)); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("nothing listens: %v", err)
		}
	})
}

func TestWindow(t *testing.T) {
	inBubble(t, func(t *testing.T, h *Hub) {
		a, b := ends(t, h)
		a.SetWriteDeadline(time.Now().Add(time.Second))
		n, err := a.Write(make([]byte, 2*window))
		if n != window || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("wrote %d, %v", n, err)
		}
		a.SetWriteDeadline(time.Time{})
		done := make(chan error, 1)
		go func() {
			_, err := a.Write(make([]byte, window))
			done <- err
		}()
		read(t, b, 2*window)
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestCloseDeliversWhatWasWritten(t *testing.T) {
	inBubble(t, func(t *testing.T, h *Hub) {
		a, b := ends(t, h)
		a.Write([]byte("bye"))
		a.Close()
		if got, err := io.ReadAll(b); string(got) != "bye" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
		if _, err := b.Write([]byte("x")); err == nil {
			t.Error("wrote to a closed connection")
		}
		if _, err := a.Read(make([]byte, 1)); !errors.Is(err, net.ErrClosed) {
			t.Errorf("read after close: %v", err)
		}
	})
}

func TestKill(t *testing.T) {
	inBubble(t, func(t *testing.T, h *Hub) {
		a, b := ends(t, h)
		blocked := make(chan error, 1)
		go func() {
			_, err := a.Read(make([]byte, 1))
			blocked <- err
		}()
		synctest.Wait()
		h.Kill(Addr(2))
		if err := <-blocked; !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("%v", err)
		}
		if _, err := b.Write([]byte("x")); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("%v", err)
		}
		dead := h.At(Addr(2))
		h.Kill(Addr(2))
		if _, err := dead.Dial(t.Context(), Addr(1)); !errors.Is(err, syscall.ENETDOWN) {
			t.Errorf("a killed process dialled: %v", err)
		}
		again, err := h.At(Addr(2)).Listen(t.Context(), Addr(2))
		if err != nil {
			t.Fatalf("the address is not free: %v", err)
		}
		again.Close()
	})
}

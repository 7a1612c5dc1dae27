package frame

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/coterie-go/coterie/proptest/bubble"
)

// inParts is a message as parts of at most so many bytes.
func inParts(dst []byte, channel uint64, payload []byte, most int) []byte {
	out, _ := Cut(Append(dst, channel, payload), len(dst), channel, most)
	return out
}

func TestPartsOfEverySize(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		most := 16 + rng.IntN(100)
		payload := make([]byte, most+1+rng.IntN(20*most))
		for i := range payload {
			payload[i] = byte(rng.Uint32())
		}
		b, n := Cut(Append([]byte("before"), 5, payload), len("before"), 5, most)
		parts := b[len("before"):]
		if string(b[:len("before")]) != "before" || Count(parts) != n {
			t.Fatalf("%d bytes in parts of %d: %d parts, said %d", len(payload), most, Count(parts), n)
		}
		for at := 0; at < len(parts); {
			size, err := Size(parts[at:], most)
			if err != nil || Channel(parts[at:]) != 5 || size == HeaderSize || size > len(parts)-at {
				t.Fatalf("a part of %d bytes: %v", size, err)
			}
			at += size
		}
		got, size, ok := join(append(parts, inParts(nil, 5, payload, most)...))
		if !ok || size != len(parts) || !bytes.Equal(got, payload) {
			t.Fatalf("%d bytes in parts of %d came together as %d: %t", len(payload), most, len(got), ok)
		}
		if _, _, ok := join(parts[:Skip(parts, n-1)]); ok {
			t.Fatal("whole without its end")
		}
	}
}

// A size that is claimed costs nothing until its bytes come.
func TestClaimedMessagesCostNothing(t *testing.T) {
	a := NewAssembly(NewRoom(1<<30), 1<<30, nil, nil)
	b := inParts(nil, 1, make([]byte, 1<<20), 1<<10)
	binary.LittleEndian.PutUint32(b[HeaderSize:], 1<<30)
	for at := 0; at < len(b); {
		size, _ := Size(b[at:], 1<<10)
		if _, err := a.Add(b[at : at+size]); err != nil {
			t.Fatal(err)
		}
		if at += size; cap(a.coming.data) > 2*at {
			t.Fatalf("%d bytes are held for %d that came", cap(a.coming.data), at)
		}
	}
}

// The messages of one peer share a room. A message that has begun ends, and the next waits, in
// order. The end of a connection gives its room back.
func TestRoomOfAPeer(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		r := NewRoom(100)
		var got []string
		take := func(name string, n int, end <-chan struct{}) {
			go func() {
				ok := r.take(n, nil, end)
				got = append(got, name+map[bool]string{true: "+", false: "-"}[ok])
			}()
			synctest.Wait()
		}
		end := make(chan struct{})
		take("a", 60, nil)
		take("b", 100, nil) // larger than what is left
		take("c", 50, end)
		take("d", 10, nil) // would fit, and is not preferred
		check := func(want string) {
			t.Helper()
			synctest.Wait()
			if have := strings.Join(got, " "); have != want {
				t.Errorf("%s; want %s", have, want)
			}
		}
		check("a+")
		r.give(60)
		check("a+ b+")
		close(end)
		check("a+ b+ c-")
		r.give(100)
		check("a+ b+ c- d+")
		r.give(10)
		if r.taken != 0 || r.waiting.Len() != 0 {
			t.Errorf("%d taken, %d wait", r.taken, r.waiting.Len())
		}
	})
}

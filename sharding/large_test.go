package sharding

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/transport"
)

// A message larger than a frame reaches an entity on another node, in its place among the others;
// one above the limit is refused, and says so.
func TestLargeMessagesTravel(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		start(w.join("backend"), cartType(&cartLog{}))
		proxy := start(w.join("frontend"), cartType(&cartLog{}))
		w.install()
		ctx := within(t, time.Minute)
		want := 0
		for i, size := range []int{1, 3 * transport.DefaultFrameMax, 10, 5 * transport.DefaultFrameMax} {
			want += i + 1
			if err := proxy.Tell(ctx, "cart", addItem{strings.Repeat("x", size), i + 1}); err != nil {
				t.Fatal(err)
			}
		}
		if n, err := Ask(ctx, proxy.Ref("cart"), total{}); n != want || err != nil {
			t.Errorf("%d items, want %d: %v", n, want, err)
		}
		err := proxy.Tell(ctx, "cart", addItem{strings.Repeat("x", transport.DefaultMessageMax), 1})
		if !errors.Is(err, ErrMessageTooLarge) || !strings.Contains(err.Error(), "MessageMax") {
			t.Errorf("got %v", err)
		}
	})
}

package control

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/coterie-go/coterie/sharding/protocol"
)

// A log at the level of information has the end of each warning that has one.
func TestLevels(t *testing.T) {
	for kind := protocol.EventKind(1); kind < protocol.EventEnd; kind++ {
		e := protocol.Event{Kind: kind}
		want := slog.LevelDebug
		switch {
		case e.Warning():
			want = slog.LevelWarn
		case strings.HasSuffix(kind.String(), "-resumed"):
			want = slog.LevelInfo
		}
		if got := (Event{"T", e}).Line().Level; got != want {
			t.Errorf("%v is at level %v, want %v", kind, got, want)
		}
	}
}

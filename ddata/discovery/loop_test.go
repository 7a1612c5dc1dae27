package discovery_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/discovery"
	"github.com/coterie-go/coterie/proptest/bubble"
)

// asked is a source that notes when it was asked, and says what the test wants.
type asked struct {
	at  []time.Duration
	say func(n int) ([]string, error)
}

func (a *asked) source(start time.Time) discovery.Source {
	return discovery.Func(func(context.Context) ([]string, error) {
		a.at = append(a.at, time.Since(start))
		return a.say(len(a.at))
	})
}

// Pauses double with jitter up to what Pace says, and begin anew when the answer changes.
func TestPauses(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		a := &asked{say: func(n int) ([]string, error) {
			if n < 12 {
				return nil, errors.New("not yet " + time.Now().String())
			}
			return []string{"a:1"}, nil
		}}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var log []string
		answers := 0
		discovery.Loop{
			Source: a.source(time.Now()), Pace: func() (time.Duration, bool) { return 4 * time.Second, true },
			Found: func(discovery.Answer) { answers++ }, RetryMin: 100 * time.Millisecond,
			Changed: func(a discovery.Answer) {
				log = append(log, fmt.Sprint(a))
			},
		}.Run(ctx)
		if time.Since(time.Unix(946684800, 0)) < time.Minute || answers != len(a.at) {
			t.Errorf("%d answers to %d questions", answers, len(a.at))
		}
		exact := 0
		for i := range len(a.at) - 1 {
			span := min(4*time.Second, 100*time.Millisecond<<min(10, i))
			if i >= 11 { // the twelfth answer is another
				span = min(4*time.Second, 100*time.Millisecond<<(i-11))
			}
			pause := a.at[i+1] - a.at[i]
			if pause < span/2 || pause > span {
				t.Errorf("pause %d is %v, want %v to %v", i, pause, span/2, span)
			}
			if pause == span/2 || pause == span {
				exact++
			}
		}
		if exact == len(a.at)-1 {
			t.Error("no jitter")
		}
		if len(log) != 2 || !strings.Contains(log[0], "not yet") || !strings.Contains(log[1], "a:1") {
			t.Errorf("said %d times: %q", len(log), log)
		}
	})
}

// The source is not asked while that is not wanted, and it is soon asked again when it is.
func TestNotWanted(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		start := time.Now()
		a := &asked{say: func(int) ([]string, error) { return []string{"a:1"}, nil }}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		discovery.Loop{
			Source: a.source(start), Found: func(discovery.Answer) {},
			Pace: func() (time.Duration, bool) { return 10 * time.Second, time.Since(start) > 30*time.Minute },
		}.Run(ctx)
		if len(a.at) == 0 || a.at[0] <= 30*time.Minute || a.at[0] > 30*time.Minute+10*time.Second {
			t.Errorf("asked at %v", a.at[:min(3, len(a.at))])
		}
	})
}

// A source that hangs is left after Timeout and asked again; one that is asked when ctx ends is
// told no more.
func TestSourceThatHangs(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		hangs := discovery.Func(func(ctx context.Context) ([]string, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		answers := 0
		discovery.Loop{
			Source: hangs, Pace: func() (time.Duration, bool) { return time.Second, true }, Timeout: 3 * time.Second,
			Found: func(a discovery.Answer) {
				if answers++; !errors.Is(a.Err, context.DeadlineExceeded) {
					t.Error(a.Err)
				}
			},
		}.Run(ctx)
		if answers < 4 || answers > 6 {
			t.Errorf("%d answers in 20 s", answers)
		}
	})
}

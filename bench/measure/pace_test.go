package measure

import (
	"context"
	"errors"
	"testing"
	"time"
)

// Behind an operation that takes long, the next ones of the same caller are late, and seen to be.
func TestTimeCountsFromWhenItWasDue(t *testing.T) {
	const callers, blocked = 64, 20 // operations of another caller, one each millisecond
	reached, ended := make(chan struct{}), make(chan struct{})
	p := Begin(t.Context(), callers, callers*1000, func(_ context.Context, caller, i int) error {
		switch {
		case caller == 0 && i == 0:
			<-reached
		case caller == 0 && i == 2*blocked:
			close(ended)
		case caller == 1 && i == blocked:
			close(reached)
		}
		return nil
	})
	<-ended
	l, err := p.End()
	if err != nil {
		t.Fatal(err)
	}
	late := 0
	for _, took := range l.Lat {
		if took > blocked/2*time.Millisecond {
			late++
		}
	}
	if late < blocked/4 || l.Ops != len(l.Lat) {
		t.Errorf("%d of %d operations are late", late, l.Ops)
	}
}

// A load ends with the first error.
func TestAnErrorEndsTheLoad(t *testing.T) {
	const callers = 64
	failed := errors.New("failed")
	p := Begin(t.Context(), callers, callers*1000, func(_ context.Context, caller, i int) error {
		if caller == 1 && i == 3 {
			return failed
		}
		return nil
	})
	p.ended.Wait()
	if l, err := p.End(); !errors.Is(err, failed) || l.Ops == 0 {
		t.Errorf("%d operations, then %v", l.Ops, err)
	}
}

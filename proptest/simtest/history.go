package simtest

import (
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"time"

	"github.com/anishathalye/porcupine"
)

// Outcome is what a client knows of an operation that has not been answered: nothing. It may have
// taken effect, may do so later, or never.
type unknown struct{ why string }

func (u unknown) String() string { return u.why }

// input is an operation, as the checker has it.
type input[M any] struct {
	msg   M
	asked bool
}

// history is what clients did with one entity, and what they were told.
type history[M any] []porcupine.Operation

// never is the time of an answer that has not come.
const never = math.MaxInt64

// begin notes an operation, and returns its place.
func (h *history[M]) begin(now int64, client int, in input[M]) int {
	*h = append(*h, porcupine.Operation{
		ClientId: client, Input: in, Call: now, Return: never, Output: unknown{"no answer"},
	})
	return len(*h) - 1
}

// end notes the answer of an operation.
func (h history[M]) end(at int, now int64, answer any) {
	h[at].Output = answer
	if _, open := answer.(unknown); !open {
		h[at].Return = now
	}
}

// model is the specification of an entity, as the checker has it.
func model[M, S any](step func(S, M) (S, any)) porcupine.Model {
	return porcupine.Model{
		Init: func() any { var zero S; return zero },
		Step: func(state, in, out any) (bool, any) {
			next, want := step(state.(S), in.(input[M]).msg)
			if _, open := out.(unknown); open {
				return true, next
			}
			return agrees(want, out), next
		},
		Equal:             reflect.DeepEqual,
		DescribeOperation: describe[M],
		DescribeState:     func(s any) string { return fmt.Sprintf("%+v", s) },
	}
}

// agrees reports whether a client was told what the model says.
func agrees(want, got any) bool {
	refusal, is := want.(error)
	if failed, has := got.(error); has || is {
		return is && has && errors.Is(failed, refusal)
	}
	return reflect.DeepEqual(want, got)
}

func describe[M any](in, out any) string {
	return fmt.Sprintf("%s → %v", nameOf(in.(input[M]).msg), out)
}

// checkMost is how long one history is looked at.
const checkMost = 10 * time.Second

// verdict is what the checker says of a history.
type verdict struct {
	result porcupine.CheckResult
	info   porcupine.LinearizationInfo
	model  porcupine.Model
}

// check looks for an order of the operations that explains all answers. An operation without an answer
// may stand anywhere after its beginning, also behind all others: then nothing shows that it took effect.
func (h history[M]) check(m porcupine.Model) verdict {
	result, info := porcupine.CheckOperationsVerbose(m, h, checkMost)
	return verdict{result, info, m}
}

// picture writes the history as a page: what was in which order, and where no order is left.
func (v verdict) picture(w io.Writer) error { return porcupine.Visualize(v.model, v.info, w) }

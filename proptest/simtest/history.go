package simtest

import (
	"math"

	"github.com/anishathalye/porcupine"
)

// unknown is what a client knows of an operation that has not been answered: nothing. It may have
// taken effect, may do so later, or never.
type unknown struct{ why string }

func (u unknown) String() string { return u.why }

// history is what clients did with one entity, and what they were told.
type history[M any] []porcupine.Operation

// never is the time of an answer that has not come.
const never = math.MaxInt64

// begin notes an operation, and returns its place.
func (h *history[M]) begin(now int64, client int, msg M) int {
	*h = append(*h, porcupine.Operation{
		ClientId: client, Input: msg, Call: now, Return: never, Output: unknown{"no answer"},
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

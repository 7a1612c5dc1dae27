package simtest

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/anishathalye/porcupine"
)

// checkMost is how long one history is looked at. One that takes longer counts as explained.
const checkMost = 10 * time.Second

// verdict is what the checker says of a history.
type verdict struct {
	result  porcupine.CheckResult
	info    porcupine.LinearizationInfo
	model   porcupine.Model
	history []porcupine.Operation
}

// judge looks for an order of the operations that explains all answers. An operation without an answer
// may stand anywhere after its beginning, also behind all others: then nothing shows that it took effect.
// The error is what is wrong with the model itself.
func judge[M, S any](h history[M], step func(S, M) (S, any)) (verdict, error) {
	var wrong atomic.Pointer[error] // the checker runs on goroutines of its own
	m := model(func(state S, msg M) (after S, reply any, ok bool) {
		after, reply, err := try(step, state, msg)
		if err != nil {
			wrong.Store(&err)
		}
		return after, reply, err == nil
	})
	result, info := porcupine.CheckOperationsVerbose(m, h, checkMost)
	if err := wrong.Load(); err != nil {
		return verdict{}, *err
	}
	return verdict{result, info, m, h}, nil
}

// try asks a model, which may panic, or change the state that it is given.
func try[M, S any](step func(S, M) (S, any), state S, msg M) (after S, reply any, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the Model panics at %s: %v\n%s", nameOf(msg), p, debug.Stack())
		}
	}()
	given := fmt.Sprintf("%+v", state)
	after, reply = step(state, msg)
	if now := fmt.Sprintf("%+v", state); now != given {
		err = fmt.Errorf("the Model changes the state that it is given, from %s to %s, at %s: it must make another",
			given, now, nameOf(msg))
	}
	return after, reply, err
}

// model is the specification of an entity, as the checker has it.
func model[M, S any](step func(S, M) (after S, reply any, ok bool)) porcupine.Model {
	return porcupine.Model{
		Init: func() any { var zero S; return zero },
		Step: func(state, in, out any) (bool, any) {
			before, _ := state.(S) // of an S that is an interface, the zero has no type
			next, want, ok := step(before, in.(M))
			if w, is := out.(*wanted); is {
				w.reply = want
				return ok, next
			}
			return ok && (silent(out) || agrees(want, out)), next
		},
		Equal:             reflect.DeepEqual,
		DescribeOperation: describe,
		DescribeState:     func(s any) string { return fmt.Sprintf("%+v", s) },
	}
}

// silent reports whether an answer says nothing of the reply.
func silent(answer any) bool {
	switch answer.(type) {
	case unknown, confirmed:
		return true
	}
	return false
}

// wanted stands in the place of an answer to hear what the model says.
type wanted struct{ reply any }

// agrees reports whether a client was told what the model says.
func agrees(want, got any) bool {
	refusal, is := want.(error)
	if failed, has := got.(error); has || is {
		return is && has && errors.Is(failed, refusal)
	}
	return reflect.DeepEqual(want, got)
}

func describe(in, out any) string {
	return fmt.Sprintf("%s → %v", nameOf(in), out)
}

// why tells the longest order that the model explains, and what it says of each operation that might have
// come next.
func (v verdict) why() string {
	order := v.longest()
	state, explained := v.model.Init(), make([]string, 0, len(order))
	left := make(map[int]bool, len(v.history)) // only looked up
	for i := range v.history {
		left[i] = true
	}
	for _, i := range order {
		o := v.history[i]
		_, state = v.model.Step(state, o.Input, o.Output)
		explained, left[i] = append(explained, v.model.DescribeOperation(o.Input, o.Output)), false
	}
	begunBy := int64(math.MaxInt64) // the next one begins before any that is left has its answer
	for i, o := range v.history {
		if left[i] {
			begunBy = min(begunBy, o.Return)
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n    explained: %s\n    state: %s",
		cmp.Or(strings.Join(explained, ", "), "nothing"), v.model.DescribeState(state))
	for i, o := range v.history {
		if _, open := o.Output.(unknown); left[i] && !open && o.Call <= begunBy {
			var w wanted
			v.model.Step(state, o.Input, &w)
			fmt.Fprintf(&b, "\n    not explained: %s: the model says %s",
				v.model.DescribeOperation(o.Input, o.Output), apart(w.reply, o.Output))
		}
	}
	return b.String()
}

// longest is the longest order that the model explains, by the places in the history; of several the one
// that begins with the earliest operations.
func (v verdict) longest() []int {
	var all [][]int
	for _, orders := range v.info.PartialLinearizations() {
		all = append(all, orders...)
	}
	if len(all) == 0 {
		return nil
	}
	return slices.MinFunc(all, func(a, b []int) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), slices.Compare(a, b))
	})
}

// apart prints what the model wants, with the types if it looks like what there is.
func apart(want, got any) string {
	if s := fmt.Sprint(want); s != fmt.Sprint(got) {
		return s
	}
	return fmt.Sprintf("%v, but as %T, and not as %T", want, want, got)
}

// picture writes the history as a page: what was in which order, and where no order is left.
func (v verdict) picture(w io.Writer) error { return porcupine.Visualize(v.model, v.info, w) }

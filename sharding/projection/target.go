package projection

import (
	"context"
	"errors"
)

// Target is where events go. It keeps the offsets, too, so that it can commit them together with
// what the handler writes.
type Target[E any] interface {
	Offsets
	// Handle hands a batch over, in the name of a claim. Batch.Each does so with one event after the
	// other. An error of Each is the failure of its event, and any other one is of no event.
	//
	// If the outcome says that the batch is saved, Batch.After is the progress of the part: with an
	// error nothing of it is. Else Save is called some time later.
	Handle(ctx context.Context, c Claim, b *Batch[E]) (Outcome, error)
}

// Outcome says what became of a batch.
type Outcome struct {
	Handled int  // events, from the first on, that are not handed over again
	Saved   bool // Batch.After is the progress of the part
}

// AtLeastOnce is the target that calls a function for each event, and saves the offset after
// Config.SaveEvery events or Config.SaveInterval. The function sees an event again if it was not
// saved: it should know events by entity and number, or not mind.
func AtLeastOnce[E any](offsets Offsets, handle func(ctx context.Context, e Recorded[E]) error) Target[E] {
	return &atLeastOnce[E]{offsets, handle}
}

type atLeastOnce[E any] struct {
	Offsets
	handle func(ctx context.Context, e Recorded[E]) error
}

// Handle implements Target.
func (t *atLeastOnce[E]) Handle(ctx context.Context, _ Claim, b *Batch[E]) (Outcome, error) {
	n, err := b.Each(ctx, t.handle)
	return Outcome{Handled: n}, err
}

// Validate says what is missing.
func (t *atLeastOnce[E]) Validate() error {
	var faults []error
	if t.Offsets == nil {
		faults = append(faults, errors.New("the Offsets of AtLeastOnce are missing"))
	}
	if t.handle == nil {
		faults = append(faults, errors.New("the function of AtLeastOnce is nil"))
	}
	return errors.Join(faults...)
}

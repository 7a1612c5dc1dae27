package replicated

import (
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/ddatatest"
	"github.com/coterie-go/coterie/ddata/format"
	"github.com/coterie-go/coterie/proptest/golden"
	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/projection"
)

const formatName = "totals/by-day"

// formatState is what the golden file holds.
var formatState = projection.State{Paused: true, Parts: []projection.PartState{
	{Claim: 5<<drawBits | 9, Progress: projection.Progress{
		Offset: "1.2-3-4", At: time.UnixMicro(1_700_000_000_000_001).UTC(), Handled: 300, Omitted: 2,
	}},
	{Claim: 1 << drawBits, Progress: projection.Progress{Handled: 7}},
	{},
}}

// storeFormat stores formatState. What Claim and Pause stamp with the time has the time 1.
func storeFormat(t *testing.T, s *Store) {
	t.Helper()
	ctx, first := t.Context(), crdt.Timestamp{High: 1}
	errs := []error{
		ddata.Update(ctx, s.data, partsKey(formatName), ddata.WriteMajority,
			func(tx *crdt.LWWRegisterTx[uint64]) error {
				_, err := tx.PutAt(uint64(len(formatState.Parts)), first)
				return err
			}),
		ddata.Update(ctx, s.data, pausedKey(formatName), ddata.WriteMajority,
			func(tx *crdt.LWWRegisterTx[bool]) error {
				_, err := tx.PutAt(true, first)
				return err
			}),
	}
	for n, p := range formatState.Parts {
		if p.Claim == 0 {
			continue
		}
		c := projection.Claim{Projection: formatName, Part: n, Number: p.Claim}
		errs = append(errs, s.open(ctx, c), s.put(ctx, c, place{At: never}), s.put(ctx, c, placeOf(p.Progress)))
	}
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// formatKeys are the keys of formatState.
func formatKeys() []string {
	keys := []string{partsKey(formatName).Name(), pausedKey(formatName).Name()}
	for n := range 2 {
		c := projection.Claim{Projection: formatName, Part: n}
		keys = append(keys, claimKey(c).Name(), placeKey(c).Name())
	}
	return keys
}

// What is stored does not change, and what the first format has stored can be read.
func TestFormat(t *testing.T) {
	s := open(t, ddatatest.Start(t, "backend")[0])
	storeFormat(t, s)
	var samples []golden.Sample
	for _, key := range formatKeys() {
		r, err := s.data.Get(t.Context(), key, ddata.ReadLocal)
		if err != nil {
			t.Fatal(err)
		}
		for it := range r.Items("") {
			samples = append(samples, golden.Sample{
				Name: fmt.Sprintf("%s %x", key, it.Path), Bytes: []byte(it.Payload),
			})
		}
	}
	golden.Formats(t, samples)
	old := open(t, ddatatest.Start(t, "backend")[0])
	for _, line := range golden.Stored(t, format.Initial) {
		key, path, _ := strings.Cut(line.Name, " ")
		at, err := hex.DecodeString(path)
		if err != nil {
			t.Fatal(err)
		}
		err = old.data.Update(t.Context(), key, ddata.WriteMajority, func(tx *crdt.Tx) error {
			return tx.Put(string(at), string(line.Bytes), nil)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if got, err := old.Look(t.Context(), formatName); err != nil || !reflect.DeepEqual(got, formatState) {
		t.Errorf("it is read as %+v, %v", got, err)
	}
	if err := old.Pause(t.Context(), formatName, false); err != nil {
		t.Fatal(err)
	}
	want := formatState.Parts[0]
	c, at, err := old.Claim(t.Context(), formatName, projection.Part{Of: len(formatState.Parts)})
	if err != nil || at != want.Progress || c.Number <= want.Claim {
		t.Errorf("the next claim %+v goes on at %+v, %v", c, at, err)
	}
}

// Any bytes are a place that stays what it is, or an error. Reading them takes memory in proportion to
// their number.
func FuzzPlace(f *testing.F) {
	for _, p := range formatState.Parts {
		value, err := crdt.AppendValue(nil, placeOf(p.Progress))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(value)
		f.Add(value[:len(value)/2])
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		before := allocated()
		p, err := crdt.DecodeValue[place](string(value))
		if most := uint64(1<<16 + 64*len(value)); allocated()-before > most {
			t.Errorf("%d bytes take more than %d", len(value), most)
		}
		if err != nil {
			return
		}
		was := p.progress()
		if again := placeOf(was).progress(); again != was || again.Offset != persistence.Offset(p.Offset) {
			t.Errorf("%x is %+v, and then %+v", value, was, again)
		}
	})
}

func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

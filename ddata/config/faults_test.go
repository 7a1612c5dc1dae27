package config_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/coterie-go/coterie/ddata/config"
)

var errOdd = errors.New("is odd")

// A configuration without a fault has no error.
func TestNoFault(t *testing.T) {
	var f config.Faults
	f.Add(false, "A", "is wrong")
	f.Of("B", nil)
	if err := f.Err("x"); err != nil || len(f) != 0 {
		t.Errorf("%v", err)
	}
}

// The error has a line for each fault, with the full name of its setting.
func TestEachFaultHasALine(t *testing.T) {
	var inner, f config.Faults
	inner.Add(true, "Max", "%d is below %d", 1, 2)
	inner.Add(true, "Min", "%w", errOdd)
	f.Add(true, "Name", "is empty")
	f.Of("Limits", inner.Err("limits: Config"))
	f.Of("Strategy", errors.New("is slow"))
	f.Of("Ports", errors.Join(errors.New("one"), errors.New("two")))
	err := f.Err("test: Config")
	const want = `test: Config.Name: is empty
test: Config.Limits.Max: 1 is below 2
test: Config.Limits.Min: is odd
test: Config.Strategy: is slow
test: Config.Ports: one
test: Config.Ports: two`
	if fmt.Sprint(err) != want {
		t.Errorf("%v", err)
	}
	if !errors.Is(err, errOdd) {
		t.Error("the causes of faults are lost")
	}
	if first := (config.SettingError{}); !errors.As(err, &first) || first.Setting != "Name" {
		t.Errorf("%+v", first)
	}
}

// Wrap puts its cause before each line. The cause is no fault of an outer configuration.
func TestWrap(t *testing.T) {
	var f config.Faults
	cause := errors.New(`invalid type "A"`)
	if err := f.Wrap(cause); err != nil {
		t.Error(err)
	}
	f.Add(true, "Max", "%d is below %d", 1, 2)
	f.Add(true, "Min", "%w", errOdd)
	err := f.Wrap(cause)
	const want = `invalid type "A": Max: 1 is below 2
invalid type "A": Min: is odd`
	if fmt.Sprint(err) != want || !errors.Is(err, cause) || !errors.Is(err, errOdd) {
		t.Errorf("%v", err)
	}
	if got := config.Named(err); len(got) != 2 || got[0].Setting != "Max" || got[1].Setting != "Min" {
		t.Errorf("%v", got)
	}
}

// Named gives the faults back.
func TestNamed(t *testing.T) {
	var inner config.Faults
	inner.Add(true, "A", "is low")
	inner.Add(true, "B", "is high")
	got := config.Named(inner.Err("inner: Config"))
	if len(got) != 2 || got[0].Setting != "A" || got[1].Error() != "B: is high" {
		t.Errorf("%v", got)
	}
	if got := config.Named(errOdd); len(got) != 1 || got[0].Setting != "" || got[0].Error() != "is odd" {
		t.Errorf("%v", got)
	}
	if got := config.Named(nil); len(got) != 0 {
		t.Errorf("%v", got)
	}
}

// A pointer that is nil, in an interface that is not, is a fault. Nothing at all is none, nor is a value
// that is no pointer.
func TestNilPointer(t *testing.T) {
	var f config.Faults
	var none fmt.Stringer
	for _, good := range []any{none, nil, new(int), 0, struct{}{}} {
		if f.NilPointer("Port", good) || len(f) > 0 {
			t.Errorf("%v: %v", good, f)
		}
	}
	is := f.NilPointer("Port", (*config.Faults)(nil))
	if want := "Port: is a *config.Faults that is nil"; !is || fmt.Sprint(f.Err("")) != want {
		t.Errorf("%v", f.Err(""))
	}
}

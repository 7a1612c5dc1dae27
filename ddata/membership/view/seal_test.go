package view

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/format"
)

// fill gives everything in a value a number that is not zero, and each slice one element.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				fill(v.Field(i))
			}
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i))
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	default:
		other(v)
	}
}

// other changes a value that has no parts.
func other(v reflect.Value) {
	switch {
	case v.CanUint():
		v.SetUint(v.Uint() + 1)
	case v.Kind() == reflect.String:
		v.SetString(v.String() + "x")
	case v.Kind() == reflect.Bool:
		v.SetBool(!v.Bool())
	default:
		panic("a field of a kind that the test does not know: " + v.Kind().String())
	}
}

// each calls changed after each change of one part of a value, and takes the change back.
func each(path string, v reflect.Value, changed func(path string)) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Field(i); f.CanSet() {
				each(path+"."+v.Type().Field(i).Name, f, changed)
			}
		}
	case reflect.Slice:
		was := reflect.ValueOf(v.Interface())
		v.Set(reflect.Append(was, reflect.Zero(v.Type().Elem())))
		changed(path + " with one more")
		v.Set(was)
		each(path+"[0]", v.Index(0), changed)
	case reflect.Array:
		for i := range v.Len() {
			each(path, v.Index(i), changed)
		}
	case reflect.Pointer:
		was := reflect.ValueOf(v.Interface())
		v.SetZero()
		changed(path + " left out")
		v.Set(was)
		each(path, v.Elem(), changed)
	default:
		was := reflect.ValueOf(v.Interface())
		other(v)
		changed(path)
		v.Set(was)
	}
}

// The seal of a view is another one when anything in it is.
func TestSealIsOfEverything(t *testing.T) {
	i := &Installed{View: &View{}}
	fill(reflect.ValueOf(i.View).Elem())
	fill(reflect.ValueOf(i).Elem().FieldByName("Digest"))
	fill(reflect.ValueOf(i).Elem().FieldByName("Voters"))
	was, parts := i.seal(), 0
	changed := func(path string) {
		if parts++; i.seal() == was {
			t.Errorf("%s is another, and the seal is the same", path)
		}
	}
	each("View", reflect.ValueOf(i.View).Elem(), changed)
	for _, name := range []string{"Digest", "Voters", "Capped"} {
		each(name, reflect.ValueOf(i).Elem().FieldByName(name), changed)
	}
	if parts < 60 || i.seal() != was {
		t.Errorf("%d parts were changed, and the seal is %x, was %x", parts, i.seal(), was)
	}
}

// A view that was modified after it was installed is found out.
func TestInstalledViewIsNotModified(t *testing.T) {
	v := &View{
		Format: 1, Cluster: 1, Epoch: 1, LastUp: 1, Founded: true, Era: 1,
		Members: []Member{{
			UID: 1, Addr: "a:1", Status: Up, UpNumber: 1, Disk: 1, Formats: format.Range{Min: 1, Max: 1},
		}},
	}
	i := Install(v, time.Time{})
	if err := errors.Join(i.CheckNew(1), i.Check()); err != nil {
		t.Fatal(err)
	}
	if i.CheckNew(2) == nil {
		t.Error("a node has installed a view that does not list it")
	}
	v.Members[0].Addr = "b:1"
	if i.Check() == nil {
		t.Error("a view was modified and passes")
	}
}

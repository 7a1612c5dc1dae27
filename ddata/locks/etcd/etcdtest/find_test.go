package etcdtest_test

import (
	"errors"
	"testing"

	"github.com/coterie-go/coterie/ddata/locks/etcd/etcdtest"
)

// What a machine without etcd does not try is said here, once; make modules prints it.
func TestFind(t *testing.T) {
	bin, err := etcdtest.Etcd.Find()
	switch {
	case err == nil:
		t.Log("etcd is ", bin)
	case errors.Is(err, etcdtest.ErrMissing) && !etcdtest.Etcd.Required():
		t.Skip("NOT TRIED: the store of leases in etcd.", err) // skip: the machine may lack etcd
	default:
		t.Fatal(err)
	}
}

// A program that a variable names is not looked for elsewhere.
func TestFindWhereTheVariableSays(t *testing.T) {
	t.Setenv(etcdtest.BinVariable, t.TempDir())
	if bin, err := etcdtest.Etcd.Find(); !errors.Is(err, etcdtest.ErrMissing) {
		t.Errorf("found %q: %v", bin, err)
	}
}

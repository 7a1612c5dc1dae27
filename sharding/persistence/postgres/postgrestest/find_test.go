package postgrestest_test

import (
	"errors"
	"testing"

	"github.com/coterie-go/coterie/sharding/persistence/postgres/postgrestest"
)

// What a machine without PostgreSQL does not try is said here, once; make modules prints it.
func TestFind(t *testing.T) {
	dir, err := postgrestest.Find()
	switch {
	case err == nil:
		t.Log("PostgreSQL of ", dir)
	case errors.Is(err, postgrestest.ErrMissing) && !postgrestest.Required():
		t.Skip("NOT TRIED: the store of entity state in PostgreSQL.", err) // skip: the machine may lack PostgreSQL
	default:
		t.Fatal(err)
	}
}

// A folder that a variable names is not looked for elsewhere.
func TestFindWhereTheVariableSays(t *testing.T) {
	t.Setenv(postgrestest.BinVariable, t.TempDir())
	if dir, err := postgrestest.Find(); !errors.Is(err, postgrestest.ErrMissing) {
		t.Errorf("found %q: %v", dir, err)
	}
}

package etcdtest

import (
	"errors"

	"github.com/coterie-go/coterie/proptest/program"
)

// Environment variables of the package.
const (
	// BinVariable names the program etcd, if it is not in the path.
	BinVariable = "COTERIE_ETCD_BIN"
	// RequireVariable makes it a failure that the program is missing: 1 to require it.
	RequireVariable = "COTERIE_REQUIRE_ETCD"
)

// ErrMissing: no etcd was found.
var ErrMissing = errors.New("etcdtest: etcd was not found; install it (package etcd-server of Debian), or name " +
	"the program in " + BinVariable)

// Etcd is the program.
var Etcd = program.Program{
	Names: []string{"etcd"}, Bin: BinVariable, Require: RequireVariable, Missing: ErrMissing,
}

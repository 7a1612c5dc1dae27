package postgrestest

import (
	"fmt"
	"os"
	"os/user"
	"strconv"
	"syscall"
)

// unprivileged is the number of the user without rights, on Linux and elsewhere.
const unprivileged = "65534"

// account returns the ordinary user under which the server runs, because PostgreSQL refuses root.
// It is nil if this process is an ordinary user's.
func account() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, find := range []func() (*user.User, error){
		func() (*user.User, error) { return user.Lookup(User) },
		func() (*user.User, error) { return user.LookupId(unprivileged) },
	} {
		u, err := find()
		if err != nil {
			continue
		}
		uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
		gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
		if err1 == nil && err2 == nil {
			return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
		}
	}
	return nil, fmt.Errorf("postgrestest: no ordinary user: neither %s nor %s", User, unprivileged)
}

package discovery

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/coterie-go/coterie/ddata/address"
)

// AddrsMax bounds the addresses of one answer. Of more, the first by their text are taken, so that
// all nodes take the same ones.
const AddrsMax = 256

// ErrNoAddress means that a source answered and named no address.
var ErrNoAddress = errors.New("discovery: the source names no address")

// Source names the addresses (host:port) at which nodes of the cluster may be at present. A host
// may be a name, which is resolved each time that it is dialled. The own address among them does no
// harm.
//
// An answer without addresses is ErrNoAddress, or an error that wraps it and says more: no node is
// there. Any other error says that the source does not know all addresses. The addresses beside it,
// if there are any, are joined, but no node founds a cluster on such an answer: the cluster that
// exists may be in the part that is missing.
//
// Discover is called by one goroutine at a time and should end when ctx does. The caller may keep
// and change the slice.
type Source interface {
	Discover(ctx context.Context) ([]string, error)
}

// Func makes a Source of a function.
type Func func(ctx context.Context) ([]string, error)

// Discover calls f.
func (f Func) Discover(ctx context.Context) ([]string, error) { return f(ctx) }

// Static is a list that does not change.
type Static []string

// Discover returns the list.
func (s Static) Discover(context.Context) ([]string, error) {
	if len(s) == 0 {
		return nil, ErrNoAddress
	}
	return slices.Clone([]string(s)), nil
}

// Validate reports the addresses that are not host:port.
func (s Static) Validate() error {
	var errs []error
	for _, a := range s {
		if err := address.CheckPeer(a); err != nil {
			errs = append(errs, fmt.Errorf("discovery: %w", err))
		}
	}
	return errors.Join(errs...)
}

// String prints the list.
func (s Static) String() string { return "static " + strings.Join(s, ", ") }

// Union names what any of several sources names. The error of one source does not hide what the
// others know, nor do they hide the error: a node that does not know all its sources does not know
// all nodes. An empty source (ErrNoAddress) is no error while another source names addresses.
type Union []Source

// Discover asks all, one after the other.
func (u Union) Discover(ctx context.Context) ([]string, error) {
	var all []string
	var none error
	var errs []error
	for _, s := range u {
		addrs, err := s.Discover(ctx)
		all = append(all, addrs...)
		if !errors.Is(err, ErrNoAddress) {
			errs = append(errs, err)
		} else if none == nil {
			none = err
		}
	}
	if err := errors.Join(errs...); err != nil || len(all) > 0 {
		return all, err
	}
	if none == nil {
		none = ErrNoAddress
	}
	return nil, none
}

// Validate reports the faults of all sources that can tell.
func (u Union) Validate() error {
	var errs []error
	for _, s := range u {
		errs = append(errs, Validate(s))
	}
	return errors.Join(errs...)
}

// String prints all sources.
func (u Union) String() string {
	texts := make([]string, len(u))
	for i, s := range u {
		texts[i] = Name(s)
	}
	return strings.Join(texts, "; ")
}

var (
	_ Source = Func(nil)
	_ Source = Static(nil)
	_ Source = Union(nil)
	_ Source = DNS{}
)

// Validate reports what is wrong with a source and cannot mend by itself. A source of the user's
// own may have a method Validate; one without is not checked.
func Validate(s Source) error {
	if v, ok := s.(interface{ Validate() error }); ok {
		return v.Validate()
	}
	return nil
}

// Name is what logs call a source.
func Name(s Source) string {
	if n, ok := s.(fmt.Stringer); ok {
		return n.String()
	}
	return fmt.Sprintf("%T", s)
}

// Answer is what a source said, tidied.
type Answer struct {
	// Addrs are sorted, without repetition and at most AddrsMax, each of them host:port.
	Addrs []string
	// Err says why these are none, or may not be all: the source failed in part, named what is no
	// address, or more than AddrsMax.
	Err error
}

// Ask asks a source once.
func Ask(ctx context.Context, s Source) Answer {
	addrs, err := s.Discover(ctx)
	if len(addrs) == 0 && err == nil {
		err = ErrNoAddress
	}
	errs := []error{err}
	before := len(addrs)
	addrs = slices.DeleteFunc(addrs, func(a string) bool { return address.CheckPeer(a) != nil })
	if bad := before - len(addrs); bad > 0 {
		errs = append(errs, fmt.Errorf("discovery: %d of %d names are left out: they are not host:port with a "+
			"host, and a port above 0", bad, before))
	}
	slices.Sort(addrs)
	addrs = slices.Compact(addrs)
	if over := len(addrs) - AddrsMax; over > 0 {
		addrs = addrs[:AddrsMax]
		errs = append(errs, fmt.Errorf("discovery: %d addresses are left out: at most %d are taken", over, AddrsMax))
	}
	return Answer{Addrs: slices.Clone(addrs), Err: errors.Join(errs...)}
}

package arbitration

import (
	"testing"

	"github.com/coterie-go/coterie/ddata/format"
	"github.com/coterie-go/coterie/ddata/membership/paxos"
	"github.com/coterie-go/coterie/ddata/membership/view"
)

func FuzzDecode(f *testing.F) {
	v := view.View{
		Format: format.Initial, Cluster: 1, Epoch: 3, LastUp: 1,
		Members: []view.Member{{UID: 5, Addr: "a:1", Status: view.Up, UpNumber: 1, Formats: format.Build()}},
	}
	f.Add([]byte{})
	f.Add(Record{}.Encode())
	f.Add(Record{Cluster: 1, Epoch: 2, Promised: paxos.Ballot{Round: 3, UID: 4}, View: &v}.Encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := Decode(b)
		if err != nil {
			return
		}
		if again, err := Decode(r.Encode()); err != nil || again.String() != r.String() {
			t.Errorf("%v became %v, %v", r, again, err)
		}
	})
}

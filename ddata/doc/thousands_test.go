package doc_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/format"
	"github.com/coterie-go/coterie/ddata/membership/message"
	"github.com/coterie-go/coterie/ddata/membership/view"
)

// thousands is a view of members that are Up, with one role each.
func thousands(members int) *view.View {
	v := &view.View{Format: format.Newest, Cluster: 1 << 62, Epoch: 9000, LastUp: uint32(members), Ages: &view.Ages{}}
	for i := range members {
		v.Members = append(v.Members, view.Member{
			UID: view.UID(1<<62 + i), Addr: fmt.Sprintf("10.12.%d.%d:7946", 100+i/100, 100+i%100),
			Roles: []string{"service"}, Status: view.Up, UpNumber: uint32(1 + i), Formats: format.Build(),
		})
	}
	return v
}

// The table of the guide says what the formulae and the messages make.
func TestTenThousandNodes(t *testing.T) {
	text, err := os.ReadFile("sizing.md")
	if err != nil {
		t.Fatal(err)
	}
	room, _ := view.RoomFor(nil)
	fit := 0
	for _, m := range thousands(view.MembersMax).Members {
		if why := room.Add(m); why != "" {
			t.Log(why)
			break
		}
		fit++
	}
	rows := map[string][2]string{
		"members with room in a view": {rounded(fit), rounded(fit)},
	}
	for i, n := range []int{1000, 10_000} {
		whole := thousands(n)
		at := view.Install(whole, time.Time{})
		next := at.Next(at.Digest)
		next.Members = append(next.Members, whole.Members...)
		next.Members[n/2].Status = view.Leaving
		change := len(message.Append(nil, message.Change{Change: at.ChangeTo(next)}))
		all := len(message.Append(nil, message.Commit{View: whole}))
		for _, row := range [][2]string{
			{"a view, all of it", kilobytes(all)},
			{"a view in which one member changed, to all", fmt.Sprintf("%.2g MB", float64(change*n)/1e6)},
			{"heartbeats that a voter answers in a second", thousand(n)},
			{"bytes a second of a voter", kilobytes(bytesWhenIdle(1, 25) + bytesOfVoter(n))},
			{"memory of the connections of a node", fmt.Sprintf("%d MB", heapOfMembers(n+1)/1e6)},
			{"acknowledgements that WriteMajority waits for", thousand(n / 2)},
			{"views of a rolling restart, one by one", thousand(4 * n)},
		} {
			is := rows[row[0]]
			is[i] = row[1]
			rows[row[0]] = is
		}
	}
	for name, is := range rows {
		want := fmt.Sprintf("| %s | %s | %s |", name, is[0], is[1])
		t.Log(want)
		if !strings.Contains(string(text), want) {
			t.Errorf("sizing.md does not say %q", want)
		}
	}
}

func thousand(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%d,%03d", n/1000, n%1000)
}

// rounded leaves three digits.
func rounded(n int) string { return thousand(n / 10 * 10) }

func kilobytes(n int) string { return fmt.Sprintf("%d kB", (n+500)/1000) }

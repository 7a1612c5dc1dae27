package quorum_test

import (
	"fmt"

	"github.com/coterie-go/coterie/replicator/quorum"
)

func ExampleLevel_Need() {
	for _, n := range []int{3, 5, 7} {
		fmt.Println(n, quorum.Majority.Need(n), quorum.MajorityPlus(1, 0).Need(n),
			quorum.MajorityPlus(0, 5).Need(n), quorum.All.Need(n))
	}
	// Output:
	// 3 2 3 3 3
	// 5 3 4 5 5
	// 7 4 5 5 7
}

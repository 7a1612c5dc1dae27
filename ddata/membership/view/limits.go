package view

// Bounds of a view and of what it lists.
const (
	MembersMax     = 4096      // members of a view
	NameMax        = 128       // bytes of a cluster name, role or version
	AddrMax        = 256       // bytes of an address
	RolesMax       = 32        // roles of a member
	SetsMax        = 64        // sets of disks that a view remembers; beyond it the oldest is forgotten
	roomOfSets     = 180 << 10 // bytes of the sets that a view remembers
	PatternsMax    = 256       // patterns of durable keys of a view, and of one node
	RoomOfPatterns = 16 << 10  // bytes of them
	MovesMax       = 1<<16 - 1 // moves of keys
	ServiceNameMax = 256       // bytes of a service's name
	LinesMax       = 512       // services of a view, and of one node
	LineMax        = 5         // members of a line
	roomOfLines    = 48 << 10  // bytes of a view's lines, as bytesOf counts them
	roomOfMembers  = 320 << 10 // bytes of a view's members, as bytesOf counts them
	roomOfDisks    = 44 << 10  // bytes of a view's own sets of disks, as Room counts them
)

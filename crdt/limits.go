package crdt

// Hard limits of what is accepted from users and decoded from peers and disks.
const (
	KeyMax     = 1024        // bytes of a key; a key is UTF-8 and not empty
	PathMax    = 4 << 10     // bytes of a path, kind byte included
	ElementMax = PathMax - 1 // bytes of an encoded set element or map key, with the keys of the maps around it
	PayloadMax = 1 << 20     // bytes of a payload
	RemovesMax = 1 << 16     // dots that one event removes
	EventsMax  = 1 << 16     // events of one Update; an Add, Put, Increment or Remove is one, a Clear one or few

	ClockOriginsMax = 1 << 20 // origins of a decoded clock
	ClockRunsMax    = 1 << 20 // runs above the base of one origin of a decoded clock
	ItemsMax        = 1 << 20 // items of one batch
)

package bootstrap

// Bounds on what is kept, sent and decoded.
const (
	ContactsMax = 256 // contacts in a message, candidates kept while founding
	KnownMax    = 8   // views of the past that a founder tells of
	ReasonMax   = 512 // bytes of a refusal's text
	settingsMax = 20  // settings that must be alike
	settingMax  = 96  // bytes of a setting's value as it is told
	hintsMax    = 256 // addresses that hints have named
)

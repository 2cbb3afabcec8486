package snapshot

// Turn takes a snapshot if it is time for one.
var Turn = (*Keeper).turn

// The keys that etcd has yet to get, in the order of their writes. The mirror owns it. A key that is written
// again gets a new place, and its older places are skipped. So the queue never has many more places than
// keys.

/// Places of keys by the revisions of their writes.
struct OwedQueue: Sendable {
    struct Place: Sendable, Equatable {
        let revision: Int
        let key: String
    }

    /// How many keys are owed. The mirror counts them.
    var owed = 0
    private var places: [Place] = []
    private var read = 0

    mutating func append(_ revision: Int, _ key: String) {
        places.append(Place(revision: revision, key: key))
    }

    /// Puts places back that were taken but not sent.
    mutating func putBack(_ taken: [Place]) {
        if taken.count <= read {
            read -= taken.count
            for (offset, place) in taken.enumerated() { places[read + offset] = place }
        } else {
            places.replaceSubrange(0..<read, with: taken)
            read = 0
        }
    }

    /// Takes the places of the next revision that still count.
    mutating func nextGroup(where counts: (Place) -> Bool) -> [Place] {
        var group: [Place] = []
        while read < places.count {
            let place = places[read]
            if let first = group.first, first.revision != place.revision { break }
            read += 1
            // A key that is owed again, without a newer write, is there twice.
            if counts(place), !group.contains(place) { group.append(place) }
        }
        if read == places.count { (places, read) = ([], 0) }
        return group
    }

    func oldest(where counts: (Place) -> Bool) -> Int? {
        places[read...].reduce(nil) { oldest, place in
            if let oldest, oldest <= place.revision { return oldest }
            return counts(place) ? place.revision : oldest
        }
    }

    /// How many places there are, including stale ones.
    var count: Int { places.count }

    var isSparse: Bool { places.count > 2 * owed + 1_024 }

    mutating func compact(where counts: (Place) -> Bool) {
        places = places[read...].filter(counts)
        read = 0
    }
}

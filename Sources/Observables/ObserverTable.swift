// The weakly held observers of one observable, or of one of its keys, in the order of their phases, and
// within a phase in the order in which they were added. The registry owns it. Invariants: an observer is in
// it once. Places of removed observers are freed once they are half of all. No code or object of the user is
// run or released here, because a lock is held: dropped objects are returned.

/// Observers by identity. The cost of adding and removing doesn't depend on their number.
struct ObserverTable<Object: AnyObject> {
    private(set) var registrations: [Registration<Object>] = []
    private var places: [ObjectIdentifier: Registration<Object>] = [:]

    var isEmpty: Bool { places.isEmpty }

    /// Returns false and changes nothing if that observer is here already.
    mutating func add(_ registration: Registration<Object>) -> Bool {
        if let known = places[registration.id] {
            if known.isSame(as: registration) { return false }
            known.remove()  // of a dead observer whose address is in use again
        }
        places[registration.id] = registration
        insert(registration)
        return true
    }

    /// Puts it behind those of its phase and of earlier ones.
    private mutating func insert(_ registration: Registration<Object>) {
        guard let last = registrations.last, last.place.phase > registration.place.phase else {
            return registrations.append(registration)
        }
        let index = registrations.firstIndex { $0.place.phase > registration.place.phase }
        registrations.insert(registration, at: index ?? registrations.count)
    }

    mutating func remove(_ id: ObjectIdentifier) -> [Registration<Object>] {
        guard let registration = places.removeValue(forKey: id) else { return [] }
        registration.remove()
        return registrations.count >= places.count * 2 ? compact() : []
    }

    /// Drops removed registrations, including those of dead observers.
    mutating func compact() -> [Registration<Object>] {
        let dropped = registrations.filter(\.isRemoved)
        guard !dropped.isEmpty else { return [] }
        registrations.removeAll(where: \.isRemoved)
        for registration in dropped where places[registration.id] === registration {
            places[registration.id] = nil
        }
        return dropped
    }
}

// Who observes one key. Most keys have no observer, so this is not part of each observable. An audience
// is there as long as somebody is in it; owned by the `ObservableTable`, and filled by `Matching`.

import PlugboardMemory

typealias AudienceHandle = Handle<KeyAudience>

/// The observers of one key.
struct KeyAudience: ~Copyable {
    /// All that match, patterns included, in the order in which they are told. True for the key's
    /// `observersGeneration`.
    var observers = List<Recipient>()
    /// The subscriptions that name this key exactly.
    var exact = List<SubscriptionHandle>()

    var isEmpty: Bool { observers.isEmpty && exact.isEmpty }
}

extension Span<Recipient> {
    /// The subscriptions alone, for code that changes the list meanwhile.
    var subscriptions: [SubscriptionHandle] { indices.map { self[$0].subscription } }
}

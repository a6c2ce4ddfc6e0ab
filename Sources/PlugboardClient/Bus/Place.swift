// How far a program has got in a subscription, as a value that it can keep. Every event has one. With it,
// another process continues behind that event, and gets nothing twice.

import Synchronization

/// A place in the events of a subscription.
///
/// ```swift
/// let options = SubscribeOptions(delivery: .all, since: kept)
/// for try await event in try await bus.subscribe("cart.**", options: options) {
///     print(event.key, event.isMissed ? "happened meanwhile" : "")
///     kept = event.place
/// }
/// ```
/// Keep it together with what the program has done about the event: a program that is killed between the
/// two handles that event again, or never. It belongs to these patterns and conditions: a subscription
/// with others may have missed more.
///
/// Its JSON is `{"epoch":"…","revision":812,"keys":["cart.items"]}`, with `emits` if they are counted.
public struct Place: Sendable {
    /// Nothing has come. A subscription from here gets the current values.
    public static let beginning = Place(epoch: "", revision: 0)

    /// The life of the revision counter, as in the broker's greeting.
    public let epoch: String
    /// Everything up to this revision has come.
    public let revision: Int
    /// The keys of the next revision that have come as well. (The events of a batch share a revision.)
    public var keys: [String] { Array(next?.all.prefix(count) ?? key.map { [$0] } ?? []) }

    /// The emits that need not be counted any more; nil unless the subscription
    /// ``SubscribeOptions/countsEmits``.
    public var emits: Emits?

    /// How many emits of a revision have come, or were counted as missed.
    public struct Emits: Hashable, Codable, Sendable {
        /// The newest revision that has come.
        public var revision: Int
        public var count: Int

        public init(revision: Int, count: Int) {
            self.revision = revision
            self.count = count
        }
    }

    /// The only key of the next revision; nil if there is none, or several.
    private let key: String?
    private let next: RevisionKeys?
    /// How many of the next revision's keys had come. Later ones belong to later places.
    private let count: Int

    /// - Parameters:
    ///   - epoch: that of the revision.
    ///   - revision: one up to which everything has come.
    ///   - keys: those of the next revision that have come as well.
    public init(epoch: String, revision: Int, keys: [String] = []) {
        self.init(epoch: epoch, revision: revision, next: RevisionKeys(keys), count: keys.count)
    }

    init(epoch: String, revision: Int, key: String?) {
        self.epoch = epoch
        self.revision = revision
        self.key = key
        next = nil
        count = key == nil ? 0 : 1
    }

    init(epoch: String, revision: Int, next: RevisionKeys, count: Int) {
        self.epoch = epoch
        self.revision = revision
        self.next = next
        self.count = count
        key = nil
    }
}

extension Place: Hashable {
    public static func == (one: Place, other: Place) -> Bool {
        one.epoch == other.epoch && one.revision == other.revision && one.keys == other.keys
            && one.emits == other.emits
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(epoch)
        hasher.combine(revision)
    }
}

extension Place: Codable {
    private enum CodingKeys: CodingKey {
        case epoch, revision, keys, emits
    }

    /// - Throws: `DecodingError` if the value isn't a place. Without `keys` there are none.
    public init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        let revision = try members.decode(Int.self, forKey: .revision)
        guard revision >= 0 else {
            let reason = "a revision is not negative"
            throw DecodingError.dataCorruptedError(forKey: .revision, in: members, debugDescription: reason)
        }
        let keys = try members.decodeIfPresent([String].self, forKey: .keys) ?? []
        self.init(epoch: try members.decode(String.self, forKey: .epoch), revision: revision, keys: keys)
        emits = try members.decodeIfPresent(Emits.self, forKey: .emits)
    }

    public func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: CodingKeys.self)
        try members.encode(epoch, forKey: .epoch)
        try members.encode(revision, forKey: .revision)
        let keys = keys
        if !keys.isEmpty { try members.encode(keys, forKey: .keys) }
        try members.encodeIfPresent(emits, forKey: .emits)
    }
}

/// The keys of one revision, in the order in which they came. The places of a batch share it, so that a
/// batch of many keys needs them only once.
final class RevisionKeys: Sendable {
    private let keys: Mutex<[String]>

    init(_ keys: [String]) {
        self.keys = Mutex(keys)
    }

    var all: [String] { keys.withLock { $0 } }

    func add(_ key: String) { keys.withLock { $0.append(key) } }
}

// The messages of etcd's JSON gateway that the bridge needs. Bytes are in base64, as Codable writes `Data`.
// Numbers of 64 bits are strings. Zeros, false and empty values are left out. `EtcdReading` reads the
// frequent ones.

/// A whole number that is written as a string.
struct EtcdNumber: Codable, Sendable, Equatable {
    let value: Int

    init(_ value: Int) { self.value = value }

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let number = try? container.decode(Int.self) {
            value = number
            return
        }
        let text = try container.decode(String.self)
        guard let number = EtcdNumber(text: text) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "\(text) is no number")
        }
        self = number
    }

    init?(text: String) {
        // Identifiers are unsigned.
        guard let number = Int(text) ?? UInt64(text).map({ Int(truncatingIfNeeded: $0) }) else { return nil }
        value = number
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(String(value))
    }
}

struct EtcdHeader: Sendable {
    var cluster_id: EtcdNumber?
    var revision: EtcdNumber?
}

struct EtcdKeyValue: Sendable {
    var key = Data()
    var mod_revision: EtcdNumber?
    var value: [UInt8]?
    var lease: EtcdNumber?
}

// MARK: Requests

struct EtcdRange: Encodable, Sendable {
    var key: Data
    var range_end: Data?
    var revision: EtcdNumber?
    var limit: EtcdNumber?
    var keys_only: Bool?
}

struct EtcdPut: Encodable, Sendable {
    let key: Data
    let value: Data
    var lease: EtcdNumber?
}

struct EtcdDelete: Encodable, Sendable {
    let key: Data
}

struct EtcdCompare: Encodable, Sendable {
    let target = "MOD"
    let result = "EQUAL"
    let key: Data
    let mod_revision: EtcdNumber
}

struct EtcdOperation: Encodable, Sendable {
    var request_put: EtcdPut?
    var request_delete_range: EtcdDelete?
    var request_range: EtcdRange?
}

struct EtcdTransactionRequest: Encodable, Sendable {
    var compare: [EtcdCompare]
    var success: [EtcdOperation]
    var failure: [EtcdOperation]
}

struct EtcdWatchRequest: Encodable, Sendable {
    struct Create: Encodable, Sendable {
        let key: Data
        let range_end: Data
        let start_revision: EtcdNumber
        /// Large answers come in parts.
        let fragment = true
    }
    let create_request: Create
}

struct EtcdLeaseGrant: Encodable, Sendable {
    let TTL: EtcdNumber
}

struct EtcdLeaseID: Encodable, Sendable {
    let ID: EtcdNumber
}

struct EtcdCredentials: Encodable, Sendable {
    let name: String
    let password: String
}

// MARK: Replies

struct EtcdRangeReply: Sendable {
    var header: EtcdHeader?
    var kvs: [EtcdKeyValue]?
    var more: Bool?
}

struct EtcdTransactionReply: Sendable {
    struct Response: Sendable {
        var response_range: EtcdRangeReply?
    }
    var header: EtcdHeader?
    var succeeded: Bool?
    var responses: [Response]?
}

struct EtcdLeaseReply: Decodable, Sendable {
    struct Alive: Decodable, Sendable {
        let TTL: EtcdNumber?
    }
    let ID: EtcdNumber?
    let TTL: EtcdNumber?
    let result: Alive?
}

struct EtcdToken: Decodable, Sendable {
    let token: String
}

struct EtcdFault: Decodable, Sendable {
    let error: String?
    let message: String?
    let code: Int?
}

/// One line of a watch.
struct EtcdWatchLine: Sendable {
    struct Event: Sendable {
        var type: String?
        var kv = EtcdKeyValue()
    }
    struct Result: Sendable {
        var header: EtcdHeader?
        var created: Bool?
        var canceled: Bool?
        var cancel_reason: String?
        var compact_revision: EtcdNumber?
        /// The answer goes on in the next line, perhaps within a revision.
        var fragment: Bool?
        var events: [Event]?
    }
    struct Failure: Sendable {
        var message: String?
    }
    var result: Result?
    var error: Failure?
}

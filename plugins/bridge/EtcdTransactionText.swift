// A transaction's JSON, written without Codable. Every write needs it, and an encoder took a fifth of the
// bridge's time. A test compares the two.

extension EtcdTransactionRequest {
    /// The same as an encoder writes, with the members in another order.
    var json: Data {
        var text = #"{"compare":["#
        for (index, each) in compare.enumerated() {
            text += index == 0 ? "{" : ",{"
            text += #""target":"MOD","result":"EQUAL","key":""# + each.key.base64EncodedString()
            text += #"","mod_revision":"\#(each.mod_revision.value)"}"#
        }
        text += #"],"success":["# + Self.list(success)
        text += #"],"failure":["# + Self.list(failure) + "]}"
        return Data(text.utf8)
    }

    private static func list(_ operations: [EtcdOperation]) -> String {
        var text = ""
        for operation in operations { text += (text.isEmpty ? "{" : ",{") + operation.json + "}" }
        return text
    }
}

extension EtcdOperation {
    /// Its only member.
    fileprivate var json: String {
        if let put = request_put {
            let lease = put.lease.map { #","lease":"\#($0.value)""# } ?? ""
            return #""request_put":{"key":"\#(put.key.base64EncodedString())","value":""#
                + put.value.base64EncodedString() + "\"\(lease)}"
        }
        if let delete = request_delete_range {
            return #""request_delete_range":{"key":"\#(delete.key.base64EncodedString())"}"#
        }
        return #""request_range":{"key":"\#((request_range?.key ?? Data()).base64EncodedString())"}"#
    }
}

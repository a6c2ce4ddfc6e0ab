// What a simulated client subscribes to, and in which form.

import PlugboardWire

/// A subscription that a client wants.
struct SubscriptionPlan {
    var sub: String
    var patterns: [String]
    var isInitial = true
    var isAll = false
    var hasOld = false
    var hasWhen = false
    var every = 0
    var phase = 5
    var acknowledges = false
    /// The filter, and the form of the events.
    var narrowing: Narrowing?
    /// The revision up to which it knows everything, and its epoch.
    var since: (revision: UInt64, epoch: String)?

    var fields: String {
        var text = #","sub":"\#(sub)","keys":[\#(patterns.map { "\"\($0)\"" }.joined(separator: ","))]"#
        if !isInitial { text += #","initial":false"# }
        if hasOld { text += #","old":true"# }
        if hasWhen { text += #","when":true"# }
        if isAll { text += #","delivery":"all""# }
        if every > 0 { text += #","every":\#(every)"# }
        if phase != 5 { text += #","phase":\#(phase)"# }
        if acknowledges { text += #","ack":true"# }
        if let narrowing { text += narrowing.fields }
        if let since { text += #","since":\#(since.revision),"epoch":"\#(since.epoch)""# }
        return text
    }

    func matches(_ key: String) -> Bool {
        let key = Array(key.utf8)
        return patterns.contains { Pattern.matches(Array($0.utf8).span, key.span) }
    }
}

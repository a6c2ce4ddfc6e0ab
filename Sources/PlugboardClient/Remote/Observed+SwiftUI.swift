// Bindings for SwiftUI. Nobody has tried them yet, because Plugboard has run only on Linux.

#if canImport(SwiftUI)
    import SwiftUI

    extension Observed {
        /// The value for a control that changes it; each change is published.
        public var binding: Binding<Value> {
            Binding(get: { self.value }, set: { self.value = $0 })
        }

        /// One part of the value for a control that changes it.
        public func binding<Part>(_ part: any WritableKeyPath<Value, Part> & Sendable) -> Binding<Part> {
            Binding(get: { self.value[keyPath: part] }, set: { self.value[keyPath: part] = $0 })
        }
    }
#endif

//! The root schema of each version, composed as the official generator composes it.
//!
//! Owns the order of the roots; titles and inlining matter, since definitions are found through them.

macro_rules! root {
    ($version:ident) => {
        /// The root of one version.
        #[allow(clippy::large_enum_variant, reason = "the official form; no value is ever made")]
        pub mod $version {
            use agent_client_protocol_schema::rpc::{JsonRpcMessage, Notification};
            use agent_client_protocol_schema::$version::{
                AgentNotification, AgentRequest, AgentResponse, ClientNotification, ClientRequest,
                ClientResponse, ProtocolLevelNotification, Request, Response,
            };
            #[cfg(feature = "unstable")]
            use agent_client_protocol_schema::$version::{
                ProxyNotification, ProxyRequest, ProxyResponse,
            };
            use schemars::JsonSchema;
            use schemars::generate::SchemaSettings;
            use schemars::transform::{RemoveRefSiblings, ReplaceBoolSchemas};
            use serde::{Deserialize, Serialize};

            #[derive(Serialize, Deserialize, JsonSchema)]
            #[serde(untagged)]
            #[schemars(inline)]
            enum AgentOutgoingMessage {
                Request(Request<AgentRequest>),
                Response(Response<AgentResponse>),
                Notification(Notification<AgentNotification>),
            }

            #[derive(Serialize, Deserialize, JsonSchema)]
            #[serde(untagged)]
            #[schemars(inline)]
            enum ClientOutgoingMessage {
                Request(Request<ClientRequest>),
                Response(Response<ClientResponse>),
                Notification(Notification<ClientNotification>),
            }

            #[cfg(feature = "unstable")]
            #[derive(Serialize, Deserialize, JsonSchema)]
            #[serde(untagged)]
            #[schemars(inline)]
            enum ProxyMessage {
                Request(Request<ProxyRequest>),
                Response(Response<ProxyResponse>),
                Notification(Notification<ProxyNotification>),
            }

            #[derive(JsonSchema)]
            #[serde(untagged)]
            #[schemars(title = "Agent Client Protocol")]
            #[expect(dead_code, reason = "only its schema is used")]
            enum AcpTypes {
                Agent(JsonRpcMessage<AgentOutgoingMessage>),
                Client(JsonRpcMessage<ClientOutgoingMessage>),
                ProtocolLevel(JsonRpcMessage<Notification<ProtocolLevelNotification>>),
                #[cfg(feature = "unstable")]
                Proxy(JsonRpcMessage<ProxyMessage>),
            }

            /// The whole schema of this version.
            pub fn schema() -> serde_json::Result<serde_json::Value> {
                let mut settings = SchemaSettings::draft2020_12();
                settings.untagged_enum_variant_titles = true;
                let mut booleans = ReplaceBoolSchemas::default();
                booleans.skip_additional_properties = true;
                let settings =
                    settings.with_transform(RemoveRefSiblings::default()).with_transform(booleans);
                serde_json::to_value(settings.into_generator().into_root_schema_for::<AcpTypes>())
            }
        }
    };
}

root!(v1);
root!(v2);

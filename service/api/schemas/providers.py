from pydantic import BaseModel, ConfigDict


class AnthropicCountAnswer(BaseModel):
    model_config=ConfigDict(extra="allow")
class AnthropicCountBody(BaseModel):
    model_config=ConfigDict(extra="allow")
class GeminiCountAnswer(BaseModel):
    model_config=ConfigDict(extra="allow")
class GeminiCountBody(BaseModel):
    model_config=ConfigDict(extra="allow")
class LitellmCountAnswer(BaseModel):
    model_config=ConfigDict(extra="allow")
class LitellmCountBody(BaseModel):
    model_config=ConfigDict(extra="allow")
class ResponsesCountAnswer(BaseModel):
    model_config=ConfigDict(extra="allow")
class ResponsesCountBody(BaseModel):
    model_config=ConfigDict(extra="allow")
class VllmDetokenizeAnswer(BaseModel):
    model_config=ConfigDict(extra="allow")
class VllmDetokenizeBody(BaseModel):
    model_config=ConfigDict(extra="allow")
class VllmTokenizeAnswer(BaseModel):
    model_config=ConfigDict(extra="allow")
class VllmTokenizeBody(BaseModel):
    model_config=ConfigDict(extra="allow")

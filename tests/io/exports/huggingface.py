"""Architectures of transformers, from small configurations with random weights; batch and length are free."""

from case import Case


def cases():
    import torch
    import transformers as t
    from torch import nn

    class First(nn.Module):
        """The tensors of its output that are no states, in order."""

        def __init__(self, inner, names):
            super().__init__()
            self.inner, self.names = inner, names

        def forward(self, *x):
            out = self.inner(**dict(zip(self.names, x, strict=True)))
            kept = ("last_hidden_state", "logits", "pooler_output", "logits_per_image", "image_embeds", "pred_boxes")
            return tuple(out[k] for k in kept if k in out and out[k] is not None)

    def model(cls, config, names, **options):
        return lambda: First(getattr(t, cls)._from_config(getattr(t, config)(**options), attn_implementation="eager")
                             if hasattr(getattr(t, cls), "_from_config") else getattr(t, cls)(getattr(t, config)(**options)), names)

    def words(*names, vocabulary=50):
        def make(batch, length):
            values = []
            for name in names:
                if "mask" in name:
                    lengths = torch.arange(batch)[:, None] * 2 + length - 2 * (batch - 1)
                    values.append((torch.arange(length)[None] < lengths).long())
                elif name == "token_type_ids":
                    values.append((torch.arange(length)[None] > 3).long().repeat(batch, 1))
                else:
                    values.append(torch.randint(3, vocabulary, (batch, length)))
            return tuple(values)

        return make

    def pixels(*shape):
        return lambda batch, length: (torch.randn(batch, *shape),)

    small = {"vocab_size": 50, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32,
             "max_position_embeddings": 64}  # fmt: skip
    text = ("input_ids", "attention_mask")
    typed = (*text, "token_type_ids")
    causal = {**small, "num_key_value_heads": 1, "use_cache": False, "pad_token_id": 0}
    encoders = {
        "bert": ("BertModel", "BertConfig", small, typed),
        "bert classifier": ("BertForSequenceClassification", "BertConfig", small, typed),
        "bert masked": ("BertForMaskedLM", "BertConfig", small, text),
        "bert tokens": ("BertForTokenClassification", "BertConfig", small, text),
        "albert": ("AlbertModel", "AlbertConfig", {**small, "embedding_size": 8}, typed),
        "electra": ("ElectraModel", "ElectraConfig", {**small, "embedding_size": 8}, typed),
        "roberta": ("RobertaModel", "RobertaConfig", small, text),
        "xlm-roberta": ("XLMRobertaModel", "XLMRobertaConfig", small, text),
        "camembert": ("CamembertModel", "CamembertConfig", small, text),
        "mpnet": ("MPNetModel", "MPNetConfig", small, text),
        "distilbert": ("DistilBertModel", "DistilBertConfig",
                       {"vocab_size": 50, "dim": 16, "n_layers": 2, "n_heads": 2, "hidden_dim": 32}, text),
        "deberta": ("DebertaModel", "DebertaConfig", {**small, "relative_attention": True, "pos_att_type": ["c2p", "p2c"]}, text),
        "deberta-v2": ("DebertaV2Model", "DebertaV2Config", {**small, "relative_attention": True, "pos_att_type": ["c2p", "p2c"],
                                                             "position_buckets": 8}, text),
        "mobilebert": ("MobileBertModel", "MobileBertConfig", {**small, "embedding_size": 16, "intra_bottleneck_size": 8,
                       "true_hidden_size": 8, "num_hidden_layers": 1}, text),
        "squeezebert": ("SqueezeBertModel", "SqueezeBertConfig", {**small, "embedding_size": 16, "q_groups": 2, "k_groups": 2,
                        "v_groups": 2, "post_attention_groups": 1, "intermediate_groups": 2, "output_groups": 2}, text),
        "funnel": ("FunnelBaseModel", "FunnelConfig", {"vocab_size": 50, "block_sizes": [1, 1], "d_model": 16, "n_head": 2, "d_head": 8,
                   "d_inner": 32, "num_decoder_layers": 1}, text),
        "layoutlm": ("LayoutLMModel", "LayoutLMConfig", small, text),
        "ernie": ("ErnieModel", "ErnieConfig", small, typed),
        "nystromformer": ("NystromformerModel", "NystromformerConfig", {**small, "segment_means_seq_len": 64, "num_landmarks": 64}, text),
        "fnet": ("FNetModel", "FNetConfig", small, ("input_ids",)),
        "modernbert": ("ModernBertModel", "ModernBertConfig", {**small, "pad_token_id": 0, "global_attn_every_n_layers": 2,
                       "local_attention": 8, "reference_compile": False}, text),
        "xlnet": ("XLNetModel", "XLNetConfig", {"vocab_size": 50, "d_model": 16, "n_layer": 2, "n_head": 2, "d_inner": 32}, text),
        "roformer": ("RoFormerModel", "RoFormerConfig", small, text),
        "esm": ("EsmModel", "EsmConfig", {**small, "pad_token_id": 1, "mask_token_id": 2, "position_embedding_type": "rotary"}, text),
    }  # fmt: skip
    gpt = {"vocab_size": 50, "n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 64, "use_cache": False}
    decoders = {
        "gpt2": ("GPT2LMHeadModel", "GPT2Config", gpt, text),
        "gpt2 without mask": ("GPT2Model", "GPT2Config", gpt, ("input_ids",)),
        "openai-gpt": ("OpenAIGPTModel", "OpenAIGPTConfig", {k: v for k, v in gpt.items() if k != "use_cache"}, text),
        "gpt-neo": ("GPTNeoModel", "GPTNeoConfig", {"vocab_size": 50, "hidden_size": 16, "num_layers": 2, "num_heads": 2,
                    "attention_types": [[["global", "local"], 1]], "window_size": 8, "max_position_embeddings": 64, "use_cache": False}, text),
        "gpt-neox": ("GPTNeoXModel", "GPTNeoXConfig", {**small, "use_cache": False}, text),
        "gptj": ("GPTJModel", "GPTJConfig", {**gpt, "rotary_dim": 4}, text),
        "opt": ("OPTModel", "OPTConfig", {"vocab_size": 50, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2,
                "ffn_dim": 32, "max_position_embeddings": 64, "word_embed_proj_dim": 16, "use_cache": False}, text),
        "bloom": ("BloomModel", "BloomConfig", {"vocab_size": 50, "hidden_size": 16, "n_layer": 2, "n_head": 2, "use_cache": False}, text),
        "llama": ("LlamaForCausalLM", "LlamaConfig", causal, text),
        "mistral": ("MistralModel", "MistralConfig", {**causal, "sliding_window": 4}, text),
        "qwen2": ("Qwen2Model", "Qwen2Config", causal, text),
        "qwen3": ("Qwen3Model", "Qwen3Config", {**causal, "head_dim": 8}, text),
        "gemma": ("GemmaModel", "GemmaConfig", {**causal, "head_dim": 8}, text),
        "gemma2": ("Gemma2Model", "Gemma2Config", {**causal, "head_dim": 8, "sliding_window": 4}, text),
        "phi": ("PhiModel", "PhiConfig", {**causal, "num_key_value_heads": 2}, text),
        "phi3": ("Phi3Model", "Phi3Config", causal, text),
        "falcon": ("FalconModel", "FalconConfig", {"vocab_size": 50, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2,
                   "use_cache": False}, text),
        "stablelm": ("StableLmModel", "StableLmConfig", {**causal, "num_key_value_heads": 2}, text),
        "starcoder2": ("Starcoder2Model", "Starcoder2Config", causal, text),
        "olmo": ("OlmoModel", "OlmoConfig", causal, text),
        "ctrl": ("CTRLModel", "CTRLConfig", {"vocab_size": 50, "n_embd": 16, "n_layer": 2, "n_head": 2, "dff": 32, "n_positions": 64,
                 "use_cache": False}, text),
        "biogpt": ("BioGptModel", "BioGptConfig", {**small, "use_cache": False}, text),
        "xglm": ("XGLMModel", "XGLMConfig", {"vocab_size": 50, "d_model": 16, "num_layers": 2, "attention_heads": 2, "ffn_dim": 32,
                 "max_position_embeddings": 64, "use_cache": False}, text),
        "codegen": ("CodeGenModel", "CodeGenConfig", {**gpt, "n_head": 4, "n_embd": 32, "rotary_dim": 4}, text),
        "cohere": ("CohereModel", "CohereConfig", causal, text),
    }  # fmt: skip
    pair = ("input_ids", "attention_mask", "decoder_input_ids")
    bart = {"vocab_size": 50, "d_model": 16, "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 2,
            "decoder_attention_heads": 2, "encoder_ffn_dim": 32, "decoder_ffn_dim": 32, "max_position_embeddings": 64,
            "use_cache": False}  # fmt: skip
    t5 = {"vocab_size": 50, "d_model": 16, "d_kv": 8, "d_ff": 32, "num_layers": 2, "num_heads": 2, "use_cache": False,
          "decoder_start_token_id": 0}  # fmt: skip
    both = {
        "bart": ("BartModel", "BartConfig", bart, pair),
        "mbart": ("MBartModel", "MBartConfig", bart, pair),
        "marian": ("MarianModel", "MarianConfig", {**bart, "pad_token_id": 0, "decoder_start_token_id": 0}, pair),
        "pegasus": ("PegasusModel", "PegasusConfig", bart, pair),
        "blenderbot": ("BlenderbotModel", "BlenderbotConfig", bart, pair),
        "m2m_100": ("M2M100Model", "M2M100Config", bart, pair),
        "t5": ("T5ForConditionalGeneration", "T5Config", t5, pair),
        "t5 encoder": ("T5EncoderModel", "T5Config", t5, text),
        "mt5": ("MT5Model", "MT5Config", t5, pair),
        "longt5": ("LongT5EncoderModel", "LongT5Config", {**t5, "local_radius": 3}, text),
        "prophetnet": ("ProphetNetModel", "ProphetNetConfig", {"vocab_size": 50, "hidden_size": 16, "num_encoder_layers": 1, "num_decoder_layers": 1,
                       "num_encoder_attention_heads": 2, "num_decoder_attention_heads": 2, "encoder_ffn_dim": 32, "decoder_ffn_dim": 32,
                       "use_cache": False, "max_position_embeddings": 64}, pair),
    }  # fmt: skip
    for name, (cls, config, options, names) in {**encoders, **decoders, **both}.items():
        yield Case(name, model(cls, config, names, **options), words(*names), sizes=((2, 12), (3, 9)))

    image = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32, "image_size": 32,
             "patch_size": 8}  # fmt: skip
    hierarchy = {"depths": [1, 1, 1, 1], "hidden_sizes": [8, 8, 16, 16]}
    nets = {
        "vit": ("ViTModel", "ViTConfig", image, 32),
        "vit classifier": ("ViTForImageClassification", "ViTConfig", image, 32),
        "deit": ("DeiTModel", "DeiTConfig", image, 32),
        "beit": ("BeitModel", "BeitConfig", {**image, "use_relative_position_bias": True}, 32),
        "data2vec-vision": ("Data2VecVisionModel", "Data2VecVisionConfig", image, 32),
        "dinov2": ("Dinov2Model", "Dinov2Config", image, 32),
        "clip vision": ("CLIPVisionModel", "CLIPVisionConfig", image, 32),
        "siglip vision": ("SiglipVisionModel", "SiglipVisionConfig", image, 32),
        "swin": ("SwinModel", "SwinConfig", {"image_size": 32, "patch_size": 2, "embed_dim": 8, "depths": [2, 2], "num_heads": [2, 2],
                 "window_size": 4}, 32),
        "swinv2": ("Swinv2Model", "Swinv2Config", {"image_size": 32, "patch_size": 2, "embed_dim": 8, "depths": [2, 2], "num_heads": [2, 2],
                   "window_size": 4}, 32),
        "convnext": ("ConvNextModel", "ConvNextConfig", hierarchy, 64),
        "convnextv2": ("ConvNextV2Model", "ConvNextV2Config", hierarchy, 64),
        "resnet": ("ResNetModel", "ResNetConfig", {**hierarchy, "embedding_size": 8}, 64),
        "regnet": ("RegNetModel", "RegNetConfig", {**hierarchy, "embedding_size": 8, "groups_width": 8}, 64),
        "mobilenet_v1": ("MobileNetV1Model", "MobileNetV1Config", {"depth_multiplier": 0.25}, 64),
        "mobilenet_v2": ("MobileNetV2Model", "MobileNetV2Config", {"depth_multiplier": 0.25}, 64),
        "mobilevit": ("MobileViTModel", "MobileViTConfig", {"image_size": 64, "hidden_sizes": [16, 16, 16],
                      "neck_hidden_sizes": [8, 8, 8, 8, 8, 8, 16], "num_attention_heads": 2}, 64),
        "mobilevitv2": ("MobileViTV2Model", "MobileViTV2Config", {"image_size": 64, "width_multiplier": 0.25}, 64),
        "segformer": ("SegformerForSemanticSegmentation", "SegformerConfig", {"hidden_sizes": [8, 8, 16, 16], "num_attention_heads": [1, 1, 2, 2],
                      "depths": [1, 1, 1, 1], "decoder_hidden_size": 16}, 64),
        "pvt": ("PvtModel", "PvtConfig", {"image_size": 32, "hidden_sizes": [8, 8, 8, 8], "depths": [1, 1, 1, 1], "num_attention_heads": [1, 1, 2, 2]}, 32),
        "poolformer": ("PoolFormerModel", "PoolFormerConfig", {"hidden_sizes": [8, 8, 16, 16], "depths": [1, 1, 1, 1]}, 64),
        "levit": ("LevitModel", "LevitConfig", {"image_size": 64, "hidden_sizes": [16, 16, 16], "num_attention_heads": [2, 2, 2],
                  "depths": [1, 1, 1], "key_dim": [4, 4, 4]}, 64),
        "cvt": ("CvtModel", "CvtConfig", {"embed_dim": [8, 8, 16], "num_heads": [1, 1, 2], "depth": [1, 1, 1]}, 64),
        "dpt": ("DPTModel", "DPTConfig", {**image, "is_hybrid": False, "backbone_out_indices": [0, 1, 1, 1]}, 32),
        "efficientnet": ("EfficientNetModel", "EfficientNetConfig", {"width_coefficient": 0.25, "depth_coefficient": 0.25, "hidden_dim": 1280,
                         "image_size": 64}, 64),
        "bit": ("BitModel", "BitConfig", {**hierarchy, "embedding_size": 8, "num_groups": 4}, 64),
        "focalnet": ("FocalNetModel", "FocalNetConfig", {"image_size": 32, "patch_size": 2, "embed_dim": 8, "depths": [1, 1],
                     "focal_levels": [2, 2], "focal_windows": [3, 3], "hidden_sizes": [8, 16]}, 32),
        "glpn": ("GLPNModel", "GLPNConfig", {"hidden_sizes": [8, 8, 16, 16], "num_attention_heads": [1, 1, 2, 2], "depths": [1, 1, 1, 1]}, 64),
        "van": ("VanModel", "VanConfig", {"hidden_sizes": [8, 8, 16, 16], "depths": [1, 1, 1, 1]}, 64),
        "hiera": ("HieraModel", "HieraConfig", {"image_size": [32, 32], "embed_dim": 8, "depths": [1, 1], "num_heads": [1, 2],
                  "num_query_pool": 1, "masked_unit_size": [2, 2], "patch_stride": [4, 4]}, 32),
        "yolos": ("YolosModel", "YolosConfig", {**image, "image_size": [32, 32], "num_detection_tokens": 5}, 32),
    }  # fmt: skip
    for name, (cls, config, options, size) in nets.items():
        yield Case(name, model(cls, config, ("pixel_values",), **options), pixels(3, size, size), sizes=((2, 0), (3, 0)))

    def clip():
        text_config = {**small, "eos_token_id": 49}
        config = t.CLIPConfig(text_config=text_config, vision_config=image, projection_dim=8)
        return First(t.CLIPModel._from_config(config, attn_implementation="eager"), ("input_ids", "pixel_values", "attention_mask"))

    def clip_inputs(batch, length):
        ids, mask = words(*text)(batch, length)
        return ids, torch.randn(batch, 3, 32, 32), mask

    def detr():
        backbone = t.ResNetConfig(**hierarchy, embedding_size=8, out_features=["stage4"])
        config = t.DetrConfig(backbone_config=backbone, use_timm_backbone=False, use_pretrained_backbone=False, backbone=None, d_model=16,
                              encoder_layers=1, decoder_layers=1, encoder_attention_heads=2, decoder_attention_heads=2,
                              encoder_ffn_dim=32, decoder_ffn_dim=32, num_queries=5)  # fmt: skip
        return First(t.DetrForObjectDetection._from_config(config, attn_implementation="eager"), ("pixel_values",))

    speech = {"vocab_size": 20, "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32,
              "conv_dim": [8, 8], "conv_stride": [5, 2], "conv_kernel": [10, 3], "num_feat_extract_layers": 2,
              "num_conv_pos_embeddings": 4, "num_conv_pos_embedding_groups": 2}  # fmt: skip

    def wave(batch, length):
        return (torch.randn(batch, length * 40),)

    def heard(batch, length):
        return torch.randn(batch, 8, 64), torch.randint(3, 50, (batch, length))

    whisper = {"vocab_size": 50, "num_mel_bins": 8, "d_model": 16, "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 2,
               "decoder_attention_heads": 2, "encoder_ffn_dim": 32, "decoder_ffn_dim": 32, "max_source_positions": 32,
               "max_target_positions": 32, "use_cache": False, "pad_token_id": 0, "decoder_start_token_id": 1, "bos_token_id": 1,
               "eos_token_id": 2}  # fmt: skip
    yield Case("clip", clip, clip_inputs, sizes=((2, 12), (3, 9)))
    yield Case("clip text", model("CLIPTextModel", "CLIPTextConfig", text, **{**small, "eos_token_id": 49}), words(*text), sizes=((2, 12), (3, 9)))
    yield Case("detr", detr, pixels(3, 64, 64), sizes=((2, 0), (3, 0)))
    for name, cls, config in [("wav2vec2", "Wav2Vec2Model", "Wav2Vec2Config"), ("hubert", "HubertModel", "HubertConfig"),
                              ("wavlm", "WavLMModel", "WavLMConfig"), ("wav2vec2 ctc", "Wav2Vec2ForCTC", "Wav2Vec2Config"),
                              ("unispeech", "UniSpeechModel", "UniSpeechConfig")]:  # fmt: skip
        yield Case(name, model(cls, config, ("input_values",), **speech), wave)
    yield Case("whisper", model("WhisperModel", "WhisperConfig", ("input_features", "decoder_input_ids"), **whisper), heard)
    yield Case("audio-spectrogram", model("ASTModel", "ASTConfig", ("input_values",), **{k: v for k, v in image.items() if k != "image_size"},
                                          max_length=40, num_mel_bins=16), pixels(40, 16), sizes=((2, 0), (3, 0)))  # fmt: skip
    yield Case("patchtsmixer", model("PatchTSMixerModel", "PatchTSMixerConfig", ("past_values",), context_length=32, patch_length=8,
                                     patch_stride=8, d_model=8, num_layers=2, num_input_channels=3), pixels(32, 3), sizes=((2, 0), (3, 0)))  # fmt: skip
